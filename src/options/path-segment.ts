/** Whether a text, once encoded, is one segment of a path and no way out of it, as `..` is. */
export function isPathSegment(text: unknown): text is string {
  if (typeof text !== 'string' || text === '' || text === '.' || text === '..') return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return text.length <= 1024 && !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed()
}
