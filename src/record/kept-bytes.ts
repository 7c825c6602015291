import type { Line } from './event-to-line.ts'

/**
 * Copies a line into memory of its own, so that it can be kept. `Buffer.from` would take a part of Node's pool: 64 KB,
 * none of which is freed while any part of it is kept.
 */
export function keptBytes({ bytes, length }: Pick<Line, 'bytes' | 'length'>): Buffer {
  const kept = Buffer.allocUnsafeSlow(length)
  kept.set(bytes.subarray(0, length))
  return kept
}
