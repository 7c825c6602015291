/** Returns at most `maxChars` characters of a text. A cut text ends in `…`, and in no half of a character. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const end = maxChars - 1
  const isPair = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return `${text.slice(0, isPair ? end - 1 : end)}…`
}
