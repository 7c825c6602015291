import { type InvalidOption, invalidOption } from '../errors.ts'
import { similarName } from '../text/similar-name.ts'
import { describedName } from './described.ts'

/**
 * Creates the error for a name that no option has. The message lists the known options, and suggests the most similar
 * one.
 *
 * @param parent path of the group of options, with dots; '' for the options themselves
 */
export function unknownOption(name: string, known: readonly string[], parent = ''): TypeError & InvalidOption {
  const nameAt = (option: string) => (parent === '' ? option : `${parent}.${option}`)
  const similar = similarName(name, known)
  const suggestion = similar === undefined ? '' : `. Did you mean ${nameAt(similar)}?`
  const expected = `one of ${known.map(nameAt).join(', ')}`
  return invalidOption(nameAt(describedName(name)), expected, `an unknown option${suggestion}`)
}
