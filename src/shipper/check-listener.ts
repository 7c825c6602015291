import { diagnosticNames } from '../accounting/diagnostics.ts'
import { invalidArgument } from '../errors.ts'
import { describedWord, kindOf } from '../options/described.ts'

/**
 * Checks the arguments of `on` and `off`. A `warning` listener that cannot be called would mute all warnings.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if the event is unknown or the listener is not a function
 */
export function checkListener(event: unknown, listener: unknown): void {
  if (!diagnosticNames.some(name => name === event)) {
    throw invalidArgument('event', `one of ${diagnosticNames.join(', ')}`, describedWord(event))
  }
  if (typeof listener !== 'function') throw invalidArgument('listener', `a function for '${event}'`, kindOf(listener))
}
