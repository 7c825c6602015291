import type { Transform } from 'node:stream'
import type { Gzip, ZlibReset } from 'node:zlib'
import { ownProperties } from '../own-properties.ts'

/**
 * The content encodings of request bodies, the best one first. If the service refuses an encoding, the next one is
 * used. The names are those of the `content-encoding` header; `none` has no header.
 */
export const encodings = ['zstd', 'gzip', 'none'] as const

/** The content encoding of request bodies. */
export type Encoding = (typeof encodings)[number]

/** An encoding that compresses. */
export type Compressed = Exclude<Encoding, 'none'>

/** Returns the encoding to use after the service has refused one. */
export function encodingAfter(refused: Encoding): Encoding {
  return encodings[encodings.indexOf(refused) + 1] ?? 'none'
}

/** The module is an argument, because options and answers need the names of the encodings but hardly ever the module. */
type Zlib = typeof import('node:zlib')

/** Decompresses bytes that may have been cut, as far as they go. Throws if the result exceeds `maxOutputLength`. */
export type Decompress = (zlib: Zlib, bytes: Uint8Array, maxOutputLength: number) => Buffer

/** A stream that compresses each chunk written to it into a whole frame. */
export interface FrameStream {
  readonly stream: Transform
  /** Prepares the stream for the next frame. `undefined` if the stream needs no preparation. */
  readonly reset: (() => void) | undefined
}

/** Compresses and decompresses in one encoding. `chunkSize` is the size of an output buffer, in bytes. */
interface Codec {
  readonly compressSync: (zlib: Zlib, bytes: Buffer, chunkSize: number) => Buffer
  readonly createStream: (zlib: Zlib, chunkSize: number) => FrameStream
  readonly decompressSync: Decompress
  /** Removes the bytes that Node may append to a frame. `undefined` if Node appends none. */
  readonly toOneFrame: ((compressed: Buffer) => Buffer) | undefined
}

/**
 * Returns the maximum length of so many bytes after compression in any encoding. A body without repetitions grows: zstd
 * documents this limit, and gzip stays below it. The length of a new encoding must stay below it, too.
 */
export function maxCompressedBytes(bytes: number): number {
  return bytes + (bytes >> 8) + 64
}

/** Level 1 saves four fifths of what higher levels save, in a tenth of their time. */
const level = 1

/** Every encoding that compresses. The table needs an entry for each name in `encodings`. */
export const codecs: Readonly<Record<Compressed, Codec>> = {
  zstd: {
    compressSync: (zlib, bytes, chunkSize) =>
      zlib.zstdCompressSync(bytes, ownProperties({ ...zstdLevel(zlib), chunkSize })),
    createStream: (zlib, chunkSize) => {
      const flush = zlib.constants.ZSTD_e_end
      const stream = zlib.createZstdCompress(ownProperties({ ...zstdLevel(zlib), chunkSize, flush }))
      return { stream, reset: undefined }
    },
    decompressSync: (zlib, bytes, maxOutputLength) =>
      zlib.zstdDecompressSync(bytes, ownProperties({ finishFlush: zlib.constants.ZSTD_e_flush, maxOutputLength })),
    toOneFrame: withoutEmptyFrame,
  },
  gzip: {
    compressSync: (zlib, bytes, chunkSize) => zlib.gzipSync(bytes, ownProperties({ level, chunkSize })),
    createStream: (zlib, chunkSize) => {
      const options = ownProperties({ level, chunkSize, flush: zlib.constants.Z_FINISH })
      const stream = zlib.createGzip(options) as Gzip & ZlibReset
      return { stream, reset: () => stream.reset() }
    },
    decompressSync: (zlib, bytes, maxOutputLength) =>
      zlib.gunzipSync(bytes, ownProperties({ finishFlush: zlib.constants.Z_SYNC_FLUSH, maxOutputLength })),
    toOneFrame: undefined,
  },
}

function zstdLevel({ constants }: Zlib) {
  return { params: { [constants.ZSTD_c_compressionLevel]: level } }
}

/** The zstd frame of empty input. */
const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex')

/**
 * Removes an empty zstd frame from the end. Node appends one if a frame exactly fills the output buffer, and a server
 * may take bytes after the first frame for garbage.
 */
function withoutEmptyFrame(compressed: Buffer): Buffer {
  const end = compressed.length - emptyFrame.length
  return end > 0 && compressed.indexOf(emptyFrame, end) === end ? compressed.subarray(0, end) : compressed
}
