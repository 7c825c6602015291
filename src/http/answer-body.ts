import { type Answer, usualAnswerBytes } from './exchange.ts'
import { firstValue } from './header.ts'

const decoder = new TextDecoder() // takes a byte order mark off

/** The text of an answer, and whether that is all of it. */
export interface Body {
  readonly text: string
  readonly isWhole: boolean
}

/** Unpacks what there is of bytes that may have been cut; throws where that is more than the length allowed. */
type Unpack = (bytes: Uint8Array, maxOutputLength: number) => Buffer

interface Bounds {
  readonly finishFlush: number
  readonly maxOutputLength: number
}

/**
 * What an answer says, in UTF-8. We ask for no compression, but there are proxies that compress nevertheless.
 *
 * @param maxBytes most bytes that are unpacked: a few kilobytes may hold a gigabyte
 */
export function bodyOf({ headers, body, cut }: Answer, maxBytes = usualAnswerBytes): Body {
  const unpack = unpackerOf(firstValue(headers['content-encoding']), body)
  // What is too large is tried by halves, as nothing is left of an attempt that goes too far.
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

/** `undefined` for what is not packed, or in a way that nobody knows. */
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
    case 'deflate': // some servers leave out the header that it should have
      return by(((body[0] as number) & 15) === 8 ? zlib.inflateSync : zlib.inflateRawSync, Z_SYNC_FLUSH)
    case 'br':
      return by(zlib.brotliDecompressSync, BROTLI_OPERATION_FLUSH)
    case 'zstd':
      return by(zlib.zstdDecompressSync, ZSTD_e_flush)
    default:
      return undefined
  }
}
