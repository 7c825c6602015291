import { usualAnswerBytes } from '../http/exchange.ts'
import { isDatasetName } from '../options/dataset-name.ts'
import type { ContentType } from '../options/shipper-options.ts'
import { withoutTrailing } from '../text/without-trailing.ts'
import type { Encoding } from './compression.ts'

/** Most bytes of an answer to a batch, however many events are in it. */
const answerBytesCeiling = 16_777_216
/** What the service says of an event that it refuses: a time stamp, a reason, their names. */
const bytesOfFailure = 512

const newline = 0x0a
const comma = 0x2c

/**
 * The path of a dataset's ingest operation; the name is one segment of it, whatever it holds.
 *
 * @throws RangeError if the name would lead elsewhere, as `..` does. Every name is checked where it comes in: this is the
 *   last check before the request, and any request that fails it is a mistake of ours.
 */
export function ingestPath(basePath: string, dataset: string): string {
  if (!isDatasetName(dataset)) throw new RangeError(`no dataset can be named ${JSON.stringify(dataset)}`)
  return `${withoutTrailing(basePath, '/')}/v1/datasets/${encodeURIComponent(dataset)}/ingest`
}

export function ingestHeaders(
  contentType: ContentType,
  encoding: Encoding,
  authentication: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    ...authentication,
    'content-type': contentType,
    ...(encoding === 'none' ? {} : { 'content-encoding': encoding }),
    'user-agent': 'logferry',
  }
}

/** How many bytes are read of an answer that may have something to say of each event. */
export function maxAnswerBytes(events: number): number {
  return Math.min(usualAnswerBytes + events * bytesOfFailure, answerBytesCeiling)
}

/** A batch as a JSON array: the same bytes, with commas where NDJSON has newlines. */
export function jsonArray(lines: Buffer): Buffer {
  const array = Buffer.allocUnsafeSlow(lines.length + 1)
  array[0] = 0x5b
  lines.copy(array, 1)
  for (let at = array.indexOf(newline, 1); at !== -1; at = array.indexOf(newline, at + 1)) array[at] = comma
  array[array.length - 1] = 0x5d
  return array
}
