/** Returns the type of a value with its article: `a number`, `an object`. `null` and `undefined` have none. */
export function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return `${/^[aeiou]/.test(typeof value) ? 'an' : 'a'} ${typeof value}`
}
