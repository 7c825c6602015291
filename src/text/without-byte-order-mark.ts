/** Returns the text of a file without the byte order mark that editors on Windows put before it. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}
