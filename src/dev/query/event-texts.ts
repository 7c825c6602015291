/**
 * Returns true if `test` is true of the text of a value in an event: a string, or a number, `true`, `false` or `null` as
 * it is written. Names are no values. Any depth is visited without recursion.
 */
export function someText(event: object, test: (text: string) => boolean): boolean {
  const open: object[] = [event]
  for (let group = open.pop(); group !== undefined; group = open.pop()) {
    for (const name in group) {
      if (!Object.hasOwn(group, name)) continue
      const value = (group as Record<string, unknown>)[name]
      if (typeof value === 'string') {
        if (test(value)) return true
      } else if (typeof value === 'object' && value !== null) open.push(value)
      else if (test(String(value))) return true
    }
  }
  return false
}
