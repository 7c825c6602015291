/** Returns UTF-16 units as a text of its own. It keeps nothing else alive, and takes a byte for each unit if it can. */
export function ownText(units: Uint16Array, length: number): string {
  for (let at = 0; at < length; at++) {
    if ((units[at] as number) > 0xff) {
      return Buffer.from(units.buffer, units.byteOffset, 2 * length).toString('utf16le')
    }
  }
  return Buffer.from(units.subarray(0, length)).toString('latin1')
}

/** Returns about how many bytes a text takes. */
export function bytesOfText(text: string): number {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0xff) return 2 * text.length
  return text.length
}
