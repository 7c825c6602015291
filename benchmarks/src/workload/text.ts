import { randomNumbers } from './random.ts'

/** Text to fill events with: the same in every process, so that runs can be compared. */
export type TextKind = 'compressible' | 'incompressible'

const poolLength = 1 << 20
const words =
  'order payment customer request accepted declined timeout retry shipped warehouse cart total invoice session token cache miss hit upstream'.split(
    ' ',
  )
const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Gives pieces of text, each different from the one before. A piece is a slice of a pool that is made once, so that making
 * an event costs next to nothing, whatever its size.
 */
export function textSource(kind: TextKind, length: number): () => string {
  if (length <= 0) return () => ''
  const random = randomNumbers(42)
  const pool = kind === 'compressible' ? prose(random, poolLength + length) : noise(random, poolLength + length)
  let at = 0
  return () => {
    at = (at + 7919) % poolLength
    return pool.slice(at, at + length)
  }
}

/** Words of a log, with numbers between: zstd makes about a quarter of it. */
function prose(random: () => number, length: number): string {
  const parts: string[] = []
  for (let total = 0; total < length; ) {
    const word = random() < 0.15 ? String(Math.floor(random() * 10_000)) : words[Math.floor(random() * words.length)]
    parts.push(word as string)
    total += (word as string).length + 1
  }
  return parts.join(' ').slice(0, length)
}

/** What no compression makes smaller than three quarters: six bits in every byte. */
function noise(random: () => number, length: number): string {
  const bytes = Buffer.allocUnsafe(length)
  for (let index = 0; index < length; index += 1) bytes[index] = base64.charCodeAt(Math.floor(random() * 64))
  return bytes.toString('latin1')
}
