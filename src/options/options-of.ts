import { invalidOption } from '../errors.ts'
import { kindOf } from './described.ts'
import { ownProperties } from './own-properties.ts'

/**
 * The own properties of an object of options.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if it is anything but an object, or `undefined`
 */
export function optionsOf<Options extends object>(given: Options | undefined): Partial<Options> {
  if (given === undefined) return ownProperties({})
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return ownProperties(given)
  throw invalidOption('options', 'an object', kindOf(given))
}
