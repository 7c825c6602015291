import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { withoutByteOrderMark } from '../text/without-byte-order-mark.ts'

/** Maximum bytes of a line. A longer line is skipped. */
const maxLineBytes = 16_777_216
const newline = 0x0a

/**
 * Yields the lines of a file, many at a time; `undefined` in place of a line that is too long. A byte order mark is no
 * part of a line: files that begin with one may have been joined. A file whose name ends in `.gz` is decompressed. The
 * path `-` is standard input.
 *
 * @throws any error of reading or decompressing
 */
export function fileLines(path: string): AsyncGenerator<(string | undefined)[]> {
  if (path === '-') return linesIn(process.stdin)
  const source = createReadStream(path)
  if (!path.endsWith('.gz')) return linesIn(source)
  const decompressed = createGunzip()
  pipeline(source, decompressed, () => {}) // an error reaches the reader of the lines
  return linesIn(decompressed)
}

/** Yields the lines in a stream of bytes. */
export async function* linesIn(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number = maxLineBytes,
): AsyncGenerator<(string | undefined)[]> {
  let pieces: Buffer[] = []
  let bytes = 0
  let isTooLong = false
  const take = (last: Buffer): string | undefined => {
    const line = isTooLong || bytes + last.length > maxBytes ? undefined : Buffer.concat([...pieces, last]).toString()
    pieces = []
    bytes = 0
    isTooLong = false
    return line === undefined ? undefined : withoutByteOrderMark(line)
  }
  for await (const chunk of chunks) {
    const lines: (string | undefined)[] = []
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      lines.push(take(chunk.subarray(start, end)))
      start = end + 1
    }
    const rest = chunk.subarray(start)
    isTooLong ||= bytes + rest.length > maxBytes
    if (isTooLong) pieces = []
    else pieces.push(rest)
    bytes += rest.length
    yield lines
  }
  if (bytes > 0) yield [take(Buffer.alloc(0))]
}
