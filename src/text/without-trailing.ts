/**
 * Removes all characters `end` from the end of the text. Uses an index, because a pattern such as `0+$` takes quadratic
 * time.
 */
export function withoutTrailing(text: string, end: string): string {
  let length = text.length
  while (text[length - 1] === end) length--
  return text.slice(0, length)
}
