import type { Line } from '../../src/record/event-to-line.ts'

/** Returns a line in the form that a batch takes. */
export function lineOf(json: string): Line {
  const bytes = Buffer.from(json)
  return { bytes, length: bytes.length }
}
