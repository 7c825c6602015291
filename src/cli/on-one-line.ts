/** What a stranger wrote may be spread over lines, and hold what a terminal would obey. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}
