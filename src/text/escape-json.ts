/** What a terminal may obey or a reader overlook, and JSON allows in a string as it is. */
const rawInJson = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Cs}]/gu

/** JSON of printable characters and line breaks that is the same value: the others are escaped, or spaces between tokens. */
export function escapeJson(json: string): string {
  return json.replace(rawInJson, char => (char < ' ' ? ' ' : escaped(char)))
}

/** Beyond the basic plane, a character is escaped as the two units that it consists of. */
function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  )
}
