import type { Diagnostics } from '../../accounting/diagnostics.ts'
import type { ResolvedOptions } from '../../options/resolved-options.ts'
import { eventAsSent } from '../../record/event-to-line.ts'
import type { Alterations } from '../../record/event-to-plain.ts'
import { contextStep } from './add-context.ts'
import type { AsSent } from './event-fields.ts'
import { type EarlyStep, nonFiniteOf } from './intake-event.ts'
import { sampleStep } from './sample-event.ts'
import { transformStep } from './transform-event.ts'

interface ShapingDeps {
  readonly options: Pick<ResolvedOptions, 'shaping' | 'maxEventBytes' | 'timeField' | 'redact'>
  readonly diagnostics: Diagnostics
  readonly altered: Alterations
  readonly asSent: AsSent
}

/**
 * Factor by which an event that is copied before its texts are masked may exceed the maximum. Texts are masked before
 * they are cut, so that no cut hides a part of a secret.
 */
const roomForMasking = 4

/** Returns the maximum bytes of an event that is copied before it is redacted. */
export function maxCopyBytes({ maxEventBytes, redact }: Pick<ResolvedOptions, 'maxEventBytes' | 'redact'>): number {
  const isMasked = redact !== undefined && redact.texts.length > 0
  return maxEventBytes * (isMasked ? roomForMasking : 1)
}

/** The steps that the application's options ask for. A step that is off does not exist. */
export interface Shaping {
  /** Runs inside the log call of the event, also if the event is held back after that. */
  readonly context: EarlyStep | undefined
  /** The later steps, in order. */
  readonly steps: readonly EarlyStep[]
}

/** Returns the function that converts events of a shipper to plain data before they are redacted. */
export function asSentBy({ options, altered }: Pick<ShapingDeps, 'options' | 'altered'>): AsSent {
  const maxBytes = maxCopyBytes(options)
  return (intake, counted = altered) => {
    const { cut } = counted
    const sent = eventAsSent(intake.event, maxBytes, counted, nonFiniteOf(intake))
    if (counted.cut > cut) intake.wasCut = true
    return sent
  }
}

export function shapingOf({ options, diagnostics, altered, asSent }: ShapingDeps): Shaping {
  const { shaping, timeField } = options
  const { context, transform, sample } = shaping
  const deps = { diagnostics, asSent, timeField, altered }
  return {
    context: context && contextStep(context, deps),
    steps: [transform && transformStep(transform, deps), sample && sampleStep(sample, deps)].filter(
      step => step !== undefined,
    ),
  }
}
