/** The text without the characters `end` that it ends in. By index: a pattern such as `0+$` takes quadratic time. */
export function withoutTrailing(text: string, end: string): string {
  let length = text.length
  while (text[length - 1] === end) length--
  return text.slice(0, length)
}
