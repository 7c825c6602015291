import { invalidArgument } from '../errors.ts'
import { isOptionGroup, ownProperties } from '../own-properties.ts'
import { kindOf } from './described.ts'

/**
 * Returns the own enumerable properties of the options.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if the options are neither an object nor `undefined`. Also for a
 * promise, a Map and the like: options inside it, such as `redact`, would be ignored
 */
export function optionsOf<Options extends object>(given: Options | undefined): Partial<Options> {
  if (given === undefined) return ownProperties({})
  if (isOptionGroup(given)) return ownProperties(given)
  const kind = kindOf(given)
  throw invalidArgument('options', 'an object', kind === 'an object' ? `${kind} of a built-in class` : kind)
}
