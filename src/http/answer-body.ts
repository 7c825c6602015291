import { type Compressed, codecs, type Decompress } from './encodings.ts'
import { type Answer, usualAnswerBytes } from './exchange.ts'
import { firstValue } from './header.ts'

let decoder: InstanceType<typeof import('node:util')['TextDecoder']> | undefined

/** Removes a byte order mark. `TextDecoder` is not a global in the jsdom environment of Jest. */
function decoded(bytes: Uint8Array): string {
  decoder ??= new (process.getBuiltinModule('node:util').TextDecoder)()
  return decoder.decode(bytes)
}

/** The text of an answer. `isWhole` is false if a part is missing. */
export interface Body {
  readonly text: string
  readonly isWhole: boolean
}

/** Decompression in encodings that only answers have. An encoding of requests is not permitted here. */
const ofAnswersOnly: Readonly<Record<string, Decompress>> & { readonly [Encoding in Compressed]?: never } = {
  'x-gzip': codecs.gzip.decompressSync,
  br: ({ brotliDecompressSync, constants }, bytes, maxOutputLength) =>
    brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength }),
  deflate: ({ constants, inflateRawSync, inflateSync }, bytes, maxOutputLength) => {
    const hasHeader = ((bytes[0] as number) & 15) === 8 // some servers omit the zlib header
    const inflate = hasHeader ? inflateSync : inflateRawSync
    return inflate(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength })
  },
}

/**
 * The encodings of answers that can be read. Requests ask for no compression, but some proxies compress answers
 * nevertheless.
 */
const decompressions = new Map<string, Decompress>([
  ...Object.entries(codecs).map(([name, { decompressSync }]) => [name, decompressSync] as const),
  ...Object.entries(ofAnswersOnly),
])

/** True for a page in HTML or XML. The service answers in JSON, so another server has answered in its place. */
export function isPage({ text }: Pick<Body, 'text'>): boolean {
  return text.trimStart().startsWith('<')
}

/**
 * Returns the text of an answer, read as UTF-8.
 *
 * @param maxBytes maximum number of decompressed bytes; a few compressed kilobytes may hold a gigabyte
 */
export function bodyOf({ headers, body, cut }: Answer, maxBytes = usualAnswerBytes): Body {
  const encoding = firstValue(headers['content-encoding'])
  const decompress = encoding && decompressions.get(encoding.trim().toLowerCase())
  // If the result is too large, half of the bytes are tried, because a failed attempt returns nothing.
  for (let length = body.length; decompress && length > 0; length >>= 1) {
    try {
      const bytes = decompress(process.getBuiltinModule('node:zlib'), body.subarray(0, length), maxBytes)
      return { text: decoded(bytes), isWhole: cut === undefined && length === body.length }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') break
    }
  }
  return { text: decoded(body), isWhole: cut === undefined }
}
