import { diagnosticNames } from '../accounting/diagnostics.ts'
import { invalidOption } from '../errors.ts'
import { describedWord, kindOf } from '../options/described.ts'

/**
 * Refuses an event that there is none of, and a listener that cannot be called: one for `warning` would mute them all.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION`
 */
export function checkListener(event: unknown, listener: unknown): void {
  if (!diagnosticNames.some(name => name === event)) {
    throw invalidOption('event', `one of ${diagnosticNames.join(', ')}`, describedWord(event))
  }
  if (typeof listener !== 'function') throw invalidOption('listener', `a function for '${event}'`, kindOf(listener))
}
