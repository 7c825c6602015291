const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
])

/** Returns what a text between quotes means. Its escapes are those of JSON; other backslashes stand for themselves. */
export function unescaped(text: string): string {
  return text.replace(/\\(u[0-9a-fA-F]{4}|[\s\S])/g, (whole, char: string) => {
    if (char.length > 1) return String.fromCharCode(Number.parseInt(char.slice(1), 16))
    return escapes.get(char) ?? (/[\p{L}\p{N}]/u.test(char) ? whole : char)
  })
}

/** Returns a text in double quotes, which is read back as the same text. */
export function quoted(text: string): string {
  return JSON.stringify(text)
}

/** Returns a text as a value of a query: without quotes if it is read back as the same text without them. */
export function valueText(text: string): string {
  return /^[\p{L}\p{N}_@#$][\p{L}\p{N}_@#$.:,/+%-]*$/u.test(text) && !isOperator(text) ? text : quoted(text)
}

/** Returns the name of a field as the text of a query. */
export function fieldText(name: string): string {
  return /^[\p{L}_@$#](?:[\p{L}\p{N}_@$#./-]*[\p{L}\p{N}_@$#])?$/u.test(name) ? name : quoted(name)
}

function isOperator(text: string): boolean {
  return text === 'AND' || text === 'OR' || text === 'NOT'
}
