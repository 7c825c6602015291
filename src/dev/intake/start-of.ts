/** Returns the start of a text as a copy. A slice would keep the whole text in memory. */
export function startOf(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : Buffer.from(text.slice(0, maxChars)).toString()
}
