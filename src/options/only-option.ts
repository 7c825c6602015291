import { optionsOf } from './options-of.ts'
import { unknownOption } from './unknown-option.ts'

/**
 * Returns the value of the one option that a call takes; `undefined` if the option is not set.
 *
 * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` if the options are neither an object nor `undefined`, or have
 * another name
 */
export function onlyOption<Name extends string, Value>(
  given: { readonly [Each in Name]?: Value } | undefined,
  name: Name,
): Value | undefined {
  const options = optionsOf(given)
  const unknown = Object.keys(options).find(each => each !== name)
  if (unknown !== undefined) throw unknownOption(unknown, [name])
  return options[name]
}
