import type { Diagnostics } from '../../accounting/diagnostics.ts'
import { kindOf } from '../../options/described.ts'
import { handleRejection } from '../../record/unheard-rejection.ts'
import { kindOfThrown } from '../../text/kind-of-thrown.ts'

/** The options whose functions the intake calls for each event, and what becomes of an event if a function fails. */
const consequences = {
  context: 'the event is shipped without its fields',
  transform: 'the event is shipped unchanged',
  sample: 'the event is shipped',
} as const

type HookName = keyof typeof consequences

/** Warns of a function of the application that threw, or returned a value of no use: once a minute for each function. */
export function warnOfHook(diagnostics: Diagnostics, name: HookName, problem: string): void {
  const message = `the \`${name}\` function ${problem}; ${consequences[name]}.`
  diagnostics.warn('LOGFERRY_CALLBACK_THREW', message, name)
}

/** Describes an error that a function of the application threw. The error's text may repeat logged data. */
export function thrownBy(error: unknown): string {
  return `threw ${kindOfThrown(error)}`
}

/**
 * Describes why a result cannot be used as fields of an event, or returns `undefined` if it can.
 *
 * @throws whatever an accessor of the result throws
 */
export function problemOf(result: unknown): string | undefined {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return `returned ${kindOf(result)}`
  return isAwaitable(result) ? 'returned a promise, and is not waited for' : undefined
}

/** True for a promise. An error of the promise does not surface as an unhandled rejection. */
function isAwaitable(result: object): boolean {
  handleRejection(result)
  return typeof (result as { then?: unknown }).then === 'function'
}
