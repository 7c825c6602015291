import type { Encoding } from '../http/encodings.ts'
import { usualAnswerBytes } from '../http/exchange.ts'
import { isDatasetName } from '../options/dataset-name.ts'
import type { ContentType } from '../options/shipper-options.ts'
import { withoutTrailing } from '../text/without-trailing.ts'

/** Maximum number of bytes of an answer to a batch, however many events the batch has. */
const answerBytesCeiling = 16_777_216
/** Bytes of an answer for each refused event: a timestamp, a reason, and their names. */
const bytesOfFailure = 512

const newline = 0x0a
const comma = 0x2c

/**
 * Returns the path of a dataset's ingest operation. The name is one path segment, whatever characters it contains.
 *
 * @throws RangeError if the name would lead to another path, as `..` does. Every name is checked where it enters. This
 *   is the last check before the request, so a request that fails it is a bug in this package.
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

/** Returns the number of bytes to read of an answer that may report a failure of each event. */
export function maxAnswerBytes(events: number): number {
  return Math.min(usualAnswerBytes + events * bytesOfFailure, answerBytesCeiling)
}

/** Returns a batch as a JSON array: the same bytes, with commas in place of newlines. */
export function jsonArray(lines: Buffer): Buffer {
  const array = Buffer.allocUnsafeSlow(lines.length + 1)
  array[0] = 0x5b
  lines.copy(array, 1)
  for (let at = array.indexOf(newline, 1); at !== -1; at = array.indexOf(newline, at + 1)) array[at] = comma
  array[array.length - 1] = 0x5d
  return array
}
