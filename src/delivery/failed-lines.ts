import type { Batch } from '../batch/batch.ts'
import type { EventFailure } from '../outcome.ts'
import type { Severity } from '../record/severity.ts'

/** A line of a batch. */
export interface Line {
  /** Its place in the batch, from 0. */
  readonly index: number
  readonly json: string
  readonly severity: Severity
}

/**
 * The lines that failures speak of, in their order; `undefined` where it cannot be told which. Found by their time stamps,
 * which are unique: an answer bears no other trace of an event.
 */
export function failedLines(batch: Batch, failures: readonly EventFailure[]): (Line | undefined)[] {
  const byTime = new Map<string, Line>()
  if (failures.some(failure => failure.timestamp !== undefined)) {
    let index = 0
    for (const json of batch.lines()) {
      const severity = batch.severities[index] as Severity
      const time = /^\{"[^"]+":"([^"]+)"/.exec(json)?.[1]
      if (time !== undefined) byTime.set(withoutTrailingZeros(time), { index, json, severity })
      index++
    }
  }
  return failures.map(({ timestamp }) => byTime.get(withoutTrailingZeros(timestamp ?? '')))
}

/** Services trim the fraction of a second: `12.500Z` comes back as `12.5Z`. */
function withoutTrailingZeros(time: string): string {
  return time.replace(/(\.\d*?)0*Z$/, '$1Z').replace('.Z', 'Z')
}
