import type { Severity } from '../accounting/severity.ts'
import type { Batch } from '../batch/batch.ts'
import { jsonObject } from '../http/json-object.ts'
import type { EventFailure } from '../outcome.ts'
import { quoted } from '../text/short-line.ts'
import { withoutTrailing } from '../text/without-trailing.ts'

/** A line of a batch. */
interface BatchLine {
  /** Index in the batch, from 0. */
  readonly index: number
  readonly json: string
  readonly severity: Severity
}

/** A failure, and the line to which it refers, if that line is known. */
interface FailedLine {
  readonly line: BatchLine | undefined
  readonly reason: string
}

/**
 * Finds the lines to which failures refer, by their timestamps: an answer has no other reference to an event. Timestamps
 * made by this package are unique; timestamps that events bring along may not be.
 *
 * If more events have a timestamp than failures name it, none of these events counts as the failed one. The reason
 * then says so. If every event of the batch has failed, all are known.
 *
 * @param failed number of lines that have failed; some may have no failure
 * @param timeField name of the timestamp field, at the root of events
 */
export function failedLines(
  batch: Batch,
  failed: number,
  failures: readonly EventFailure[],
  timeField: string,
): FailedLine[] {
  const lines = namedLines(batch, failures, timeField).slice(0, failed)
  while (lines.length < failed) lines.push({ line: undefined, reason: 'no reason given' })
  return failed === batch.count ? withRest(batch, lines) : lines
}

/** Gives the lines of the batch that no failure names to the failures that name none. */
function withRest(batch: Batch, failed: readonly FailedLine[]): FailedLine[] {
  const named = new Set(failed.map(({ line }) => line?.index))
  const rest: BatchLine[] = []
  let index = 0
  for (const json of batch.lines()) {
    if (!named.has(index)) rest.push({ index, json, severity: batch.severities[index] as Severity })
    index++
  }
  rest.reverse()
  return failed.map(({ line, reason }) => ({ line: line ?? rest.pop(), reason }))
}

function namedLines(batch: Batch, failures: readonly EventFailure[], timeField: string): FailedLine[] {
  const named = new Map<string, number>()
  for (const { timestamp } of failures) if (timestamp !== undefined) count(named, withoutTrailingZeros(timestamp))
  const candidates = named.size === 0 ? new Map<string, BatchLine[]>() : linesAt(batch, named, timeField)
  return failures.map(({ timestamp, reason }) => {
    const time = timestamp === undefined ? '' : withoutTrailingZeros(timestamp)
    const lines = candidates.get(time) ?? []
    if (lines.length <= (named.get(time) ?? 0)) return { line: lines.pop(), reason }
    return {
      line: undefined,
      reason: `${reason} (${lines.length} events of the batch have the timestamp ${quoted(time)})`,
    }
  })
}

/** Returns the lines of the batch that have one of these timestamps, by timestamp; the first line last. */
function linesAt(batch: Batch, times: ReadonlyMap<string, unknown>, timeField: string): Map<string, BatchLine[]> {
  const lines = new Map<string, BatchLine[]>()
  const stamp = `{${JSON.stringify(timeField)}:"`
  let index = 0
  for (const json of batch.lines()) {
    const time = timeOf(json, timeField, stamp)
    if (time !== undefined && times.has(time)) {
      const line = { index, json, severity: batch.severities[index] as Severity }
      const others = lines.get(time)
      if (others === undefined) lines.set(time, [line])
      else others.push(line)
    }
    index++
  }
  for (const some of lines.values()) some.reverse()
  return lines
}

/**
 * A line from the spool, written by a process with another `timeField`. It begins with a timestamp of this package.
 */
const stampOfOthers = /^\{"[^"\\]+":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z)"/

/** @param stamp the beginning of every line whose timestamp this package made */
function timeOf(json: string, timeField: string, stamp: string): string | undefined {
  const end = json.startsWith(stamp) ? json.indexOf('"', stamp.length) : -1
  const text = json.slice(stamp.length, end)
  if (end !== -1 && !text.includes('\\')) return withoutTrailingZeros(text)
  const event = jsonObject(json)
  if (event === undefined) return undefined
  const time = Object.hasOwn(event, timeField) ? event[timeField] : stampOfOthers.exec(json)?.[1]
  return typeof time === 'string' || typeof time === 'number' ? withoutTrailingZeros(String(time)) : undefined
}

/** Services trim the fraction of a second: `12.500Z` comes back as `12.5Z`. */
function withoutTrailingZeros(time: string): string {
  if (!time.endsWith('Z') || !time.includes('.')) return time
  return `${withoutTrailing(withoutTrailing(time.slice(0, -1), '0'), '.')}Z`
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
