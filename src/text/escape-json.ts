/** Characters that JSON allows in a string as they are, but that a terminal may obey or a reader may overlook. */
const rawInJson = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Cs}]/gu

/**
 * Returns JSON of the same value that has printable characters and line breaks only. C0 control characters, which can
 * stand only between tokens, become spaces. All others are escaped.
 */
export function escapeJson(json: string): string {
  return json.replace(rawInJson, char => (char < ' ' ? ' ' : escaped(char)))
}

/** Escapes a character beyond the basic plane as the two UTF-16 units that it consists of. */
function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  )
}
