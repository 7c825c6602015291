import type { Line } from '../../src/record/event-to-line.ts'

/** A line as it comes to a batch. */
export function lineOf(json: string): Line {
  const bytes = Buffer.from(json)
  return { bytes, length: bytes.length }
}
