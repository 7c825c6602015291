import type { Diagnostics } from '../../accounting/diagnostics.ts'
import { withSamplingRate } from '../../accounting/sampling-rate.ts'
import { kindOf } from '../../options/described.ts'
import { isRate, type ResolvedSample, type SampleFunction } from '../../options/shaping-options.ts'
import { ownProperties } from '../../own-properties.ts'
import { type AsSent, changedFields } from './event-fields.ts'
import { problemOf, thrownBy, warnOfHook } from './hooks.ts'
import { type EarlyStep, type IntakeEvent, replaceFields, wholeEvent } from './intake-event.ts'
import { traceIdOf } from './trace-id.ts'
import { keepsTrace } from './trace-sampling.ts'

interface SampleDeps {
  readonly diagnostics: Diagnostics
  readonly asSent: AsSent
  readonly random?: () => number
}

/** Drops events by their rate, and marks the events that are kept. */
export function sampleStep({ rates, by }: ResolvedSample, deps: SampleDeps): EarlyStep {
  const { asSent, random = Math.random } = ownProperties(deps)
  return intake => {
    const rate = typeof rates === 'function' ? askedRate(rates, intake, deps.diagnostics) : rates[intake.severity]
    if (rate === 1) return undefined
    const traceId = by === 'trace' ? traceIdOf(intake.event) : undefined
    const isKept = traceId === undefined ? random() < rate : keepsTrace(traceId, rate)
    if (!isKept) return 'sample'
    replaceFields(
      intake,
      changedFields(intake, asSent, event => withSamplingRate(event, rate)),
    )
    return undefined
  }
}

/** Returns the rate that the application's function gives, or 1 if it gives none. */
function askedRate(ask: SampleFunction, intake: IntakeEvent, diagnostics: Diagnostics): number {
  intake.preSerialized = undefined // the function may change the event, although it must not
  try {
    const rate: unknown = ask(wholeEvent(intake.logged ?? intake.event, intake.resource))
    if (isRate(rate)) return rate
    const problem = typeof rate === 'number' ? `returned ${rate}` : (problemOf(rate) ?? `returned ${kindOf(rate)}`)
    warnOfHook(diagnostics, 'sample', `must return a number from 0 to 1, but ${problem}`)
  } catch (error) {
    warnOfHook(diagnostics, 'sample', thrownBy(error))
  }
  return 1
}
