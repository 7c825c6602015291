import type { Diagnostics } from '../../accounting/diagnostics.ts'
import { severityOfLevel } from '../../accounting/severity.ts'
import type { ShapingOptions } from '../../options/shaping-options.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { emptyTail, frozenTailFields } from '../../record/resource-tail.ts'
import { hasOtherFields } from '../../record/shipped-field.ts'
import { type AsSent, changedFields, copiedEvent } from './event-fields.ts'
import { problemOf, thrownBy, warnOfHook } from './hooks.ts'
import { type EarlyStep, type IntakeEvent, replaceFields } from './intake-event.ts'

type Fields = Record<string, unknown>

interface TransformDeps {
  readonly diagnostics: Diagnostics
  readonly asSent: AsSent
  readonly altered: Alterations
}

/** Replaces an event by the one that the application's function returns. Drops the event if the function returns none. */
export function transformStep(
  transform: NonNullable<ShapingOptions['transform']>,
  { diagnostics, asSent, altered }: TransformDeps,
): EarlyStep {
  return intake => {
    const { wasCut } = intake
    const tail = intake.resource && frozenTailFields(intake.resource)
    const alteredHere = { stubbed: 0, cut: 0 }
    const given: Fields = Object.assign(copiedEvent(intake, asSent, alteredHere), tail)
    const { level } = given
    let problem: string | undefined
    try {
      const result: unknown = transform(given)
      if (result === undefined || result === null) return 'transform'
      problem = problemOf(result)
      if (problem === undefined) replaceEvent(intake, shipped(result as Fields, { intake, tail, level, asSent }))
    } catch (error) {
      problem = thrownBy(error)
    }
    if (problem === undefined) {
      altered.stubbed += alteredHere.stubbed
      altered.cut += alteredHere.cut
    } else {
      intake.wasCut = wasCut // the event itself is shipped, not the copy
      warnOfHook(diagnostics, 'transform', problem)
    }
    return undefined
  }
}

interface Given {
  readonly intake: IntakeEvent
  readonly tail: Fields | undefined
  /** The level before the function was called. */
  readonly level: unknown
  readonly asSent: AsSent
}

type Shipped = Pick<IntakeEvent, 'event' | 'severity' | 'resource'>

/**
 * Returns the parts of the event that the function returned. An unchanged tail stays a tail. If the function has changed
 * or removed a field of the tail, the event carries all of these fields itself.
 */
function shipped(returned: Fields, { intake, tail, level, asSent }: Given): Shipped {
  const result = hasOtherFields(returned) ? asSent({ ...intake, event: returned }) : returned
  const severity = result.level === level ? intake.severity : severityOfLevel(result.level)
  if (tail === undefined) return { event: result, severity, resource: undefined }
  const names = Object.keys(tail)
  if (names.some(name => result[name] !== tail[name])) return { event: result, severity, resource: emptyTail }
  // A copy, because the application may have frozen or kept its object. A field that is `undefined` is not in the line.
  const withoutTail = Object.fromEntries(names.map(name => [name, undefined]))
  const event = changedFields({ ...intake, event: result }, asSent, fields => ({ ...fields, ...withoutTail }))
  return { event, severity, resource: intake.resource }
}

/** The assignments come last: where the stack ends, the event is replaced as a whole or not at all. */
function replaceEvent(intake: IntakeEvent, { event, severity, resource }: Shipped): void {
  replaceFields(intake, event)
  intake.severity = severity
  intake.resource = resource
}
