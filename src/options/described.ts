/** What an error shows of a value in place of an option's. A token, or an address with a password, may be at any option. */
export function described(value: unknown): string {
  if (value === '') return '""'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return kindOf(value)
}

/**
 * The same for an option that is a number, a flag or one of a few words: there, a short word or a number as a text is shown,
 * for it is a slip of the pen. Tokens are longer, and mix letters with digits and marks.
 */
export function describedWord(value: unknown): string {
  return typeof value === 'string' && /^([a-z_]{1,9}|\d{1,9})$/i.test(value) ? JSON.stringify(value) : described(value)
}

/** The kind of a value, without the value: for options that are secret whatever their type. */
export function kindOf(value: unknown): string {
  if (value === '') return 'an empty string'
  if (typeof value === 'string') return `a string of ${value.length} characters (not shown)`
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `${/^[aeiou]/.test(typeof value) ? 'an' : 'a'} ${typeof value}`
}

/** A name that no option has. With digits or marks in it, or very long, it may be a token in the place of a name. */
export function describedName(name: string): string {
  return /^[a-z_$]{1,40}$/i.test(name) ? name : '(name not shown)'
}
