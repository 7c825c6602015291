import { type InvalidOption, misusedOption } from '../errors.ts'
import { toMessageLine } from '../text/short-line.ts'
import { similarName } from '../text/similar-name.ts'
import { describedName } from './described.ts'
import { optionForNameElsewhere } from './names-elsewhere.ts'

/**
 * Creates the error for a name that no option has. The message suggests the option that has this name in other
 * packages, or the most similar one. Otherwise it lists all.
 *
 * @param parent path of the group of options, with dots; '' for the options themselves
 */
export function unknownOption(name: string, known: readonly string[], parent = ''): TypeError & InvalidOption {
  const nameAt = (option: string) => (parent === '' ? option : `${parent}.${option}`)
  const option = nameAt(describedName(name))
  const similar = optionForNameElsewhere(name, known) ?? similarName(name, known)
  const remedy =
    similar === undefined ? `Known options: ${known.map(nameAt).join(', ')}` : `Did you mean \`${nameAt(similar)}\`?`
  const message = `logferry: there is no option \`${option}\`. ${remedy}`
  return misusedOption(option, new TypeError(toMessageLine(message)))
}
