import { invalidArgument } from '../errors.ts'
import { ownProperties } from '../own-properties.ts'
import { kindOf } from './described.ts'

/**
 * Returns the own enumerable properties of the options.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if the options are neither an object nor `undefined`
 */
export function optionsOf<Options extends object>(given: Options | undefined): Partial<Options> {
  if (given === undefined) return ownProperties({})
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return ownProperties(given)
  throw invalidArgument('options', 'an object', kindOf(given))
}
