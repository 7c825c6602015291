/** Characters that a terminal obeys, that reorder a text, or that a reader cannot see. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** Names of the characters that occur in attacks and accidents. Others are shown by their number. */
export const unseenNames: ReadonlyMap<number, string> = new Map<number, string>([
  [0x00ad, 'SHY'],
  [0x061c, 'ALM'],
  [0x200b, 'ZWSP'],
  [0x200c, 'ZWNJ'],
  [0x200d, 'ZWJ'],
  [0x200e, 'LRM'],
  [0x200f, 'RLM'],
  [0x2028, 'LS'],
  [0x2029, 'PS'],
  [0x202a, 'LRE'],
  [0x202b, 'RLE'],
  [0x202c, 'PDF'],
  [0x202d, 'LRO'],
  [0x202e, 'RLO'],
  [0x2060, 'WJ'],
  [0x2066, 'LRI'],
  [0x2067, 'RLI'],
  [0x2068, 'FSI'],
  [0x2069, 'PDI'],
  [0xfeff, 'BOM'],
])

const delete_ = 0x7f
/** First of the pictures that Unicode has for the C0 control characters: ␀. */
const pictures = 0x2400
const pictureOfDelete = '\u2421'

/**
 * Replaces each character that a terminal would obey, or that a reader would not see, by a label: `␛`, `⟦RLO⟧`,
 * `⟦U+9B⟧`. Half a surrogate pair becomes `�`. Line breaks and tabs become `␊`, `␍` and `␉` as well.
 */
export function toVisibleText(text: string): string {
  return text.toWellFormed().replace(unseen, label)
}

function label(character: string): string {
  const code = character.codePointAt(0) as number
  if (code < 0x20) return String.fromCharCode(pictures + code)
  if (code === delete_) return pictureOfDelete
  return `⟦${unseenNames.get(code) ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`}⟧`
}
