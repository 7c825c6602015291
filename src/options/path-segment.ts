/**
 * True if a text, once encoded, is one segment of a path and does not lead out of it, as `..` does. A segment has 1 to
 * 1 024 characters, none of them a control character.
 */
export function isPathSegment(text: unknown): text is string {
  if (typeof text !== 'string' || text === '' || text === '.' || text === '..') return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return text.length <= 1024 && !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed()
}
