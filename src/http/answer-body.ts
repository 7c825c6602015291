import { type Answer, usualAnswerBytes } from './exchange.ts'
import { firstValue } from './header.ts'

const decoder = new TextDecoder() // removes a byte order mark

/** The text of an answer. `isWhole` is false if a part is missing. */
export interface Body {
  readonly text: string
  readonly isWhole: boolean
}

/** Decompresses bytes that may have been cut, as far as they go. Throws if the result exceeds `maxOutputLength`. */
type Unpack = (bytes: Uint8Array, maxOutputLength: number) => Buffer

interface Bounds {
  readonly finishFlush: number
  readonly maxOutputLength: number
}

/**
 * Returns the text of an answer, read as UTF-8. Requests ask for no compression, but some proxies compress answers
 * nevertheless.
 *
 * @param maxBytes maximum number of decompressed bytes; a few compressed kilobytes may hold a gigabyte
 */
export function bodyOf({ headers, body, cut }: Answer, maxBytes = usualAnswerBytes): Body {
  const unpack = unpackerOf(firstValue(headers['content-encoding']), body)
  // If the result is too large, half of the bytes are tried, because a failed attempt returns nothing.
  for (let length = unpack === undefined ? 0 : body.length; length > 0; length >>= 1) {
    try {
      const text = decoder.decode((unpack as Unpack)(body.subarray(0, length), maxBytes))
      return { text, isWhole: cut === undefined && length === body.length }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') break
    }
  }
  return { text: decoder.decode(body), isWhole: cut === undefined }
}

/** Returns `undefined` if the body is not compressed, or compressed in an unknown way. */
function unpackerOf(encoding: string | undefined, body: Uint8Array): Unpack | undefined {
  if (encoding === undefined) return undefined
  const zlib = process.getBuiltinModule('node:zlib')
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush } = zlib.constants
  const by = (unpack: (bytes: Uint8Array, options: Bounds) => Buffer, finishFlush: number): Unpack => {
    return (bytes, maxOutputLength) => unpack(bytes, { finishFlush, maxOutputLength })
  }
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return by(zlib.gunzipSync, Z_SYNC_FLUSH)
    case 'deflate': // some servers omit the zlib header
      return by(((body[0] as number) & 15) === 8 ? zlib.inflateSync : zlib.inflateRawSync, Z_SYNC_FLUSH)
    case 'br':
      return by(zlib.brotliDecompressSync, BROTLI_OPERATION_FLUSH)
    case 'zstd':
      return by(zlib.zstdDecompressSync, ZSTD_e_flush)
    default:
      return undefined
  }
}
