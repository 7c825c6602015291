import type { Gzip, ZlibReset, ZstdCompress } from 'node:zlib'
import { builtinModule } from '../options/node-version.ts'
import { type Encoding, gzipOptions, toBeKept, zstdOptions } from './compression.ts'

/** By `process.getBuiltinModule`: an `import` would read all that the module exports (0.7 ms). */
const { constants, createGzip, createZstdCompress } = builtinModule('node:zlib')

/** Node comes back to this thread each time that a buffer of this size is full. */
const chunkSize = 262_144

type Compressed = Exclude<Encoding, 'none'>

/**
 * Compresses bodies off the main thread, with streams that are used again. To make one for each body takes twice the time
 * of this thread; and as V8 is told of its memory, it collects all garbage several times a second under load, and takes
 * what is alive just then for a reason to let its young generation grow.
 */
export class Compressors {
  /** As many as there have been bodies at a time. */
  readonly #idle: Record<Compressed, Compressor[]> = { zstd: [], gzip: [] }

  async compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
    if (encoding === 'none') return bytes
    const idle = this.#idle[encoding]
    const compressor = idle.pop() ?? new Compressor(encoding)
    const compressed = await compressor.compress(bytes)
    idle.push(compressor) // not where it has failed
    return toBeKept(compressed)
  }

  /** Lets go of them; the next body has one made. */
  clear(): void {
    this.#idle.zstd.length = 0
    this.#idle.gzip.length = 0
  }
}

/** Makes a whole frame of each body, one at a time. */
class Compressor {
  readonly #stream: ZstdCompress | Gzip
  readonly #reset: (() => void) | undefined
  #chunks: Buffer[] = []

  constructor(encoding: Compressed) {
    if (encoding === 'zstd') {
      this.#stream = createZstdCompress({ ...zstdOptions, chunkSize, flush: constants.ZSTD_e_end })
    } else {
      const stream = createGzip({ ...gzipOptions, chunkSize, flush: constants.Z_FINISH }) as Gzip & ZlibReset
      this.#stream = stream
      this.#reset = () => stream.reset()
    }
    this.#stream.on('data', chunk => this.#chunks.push(chunk))
  }

  async compress(bytes: Buffer): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#stream.once('error', reject)
    this.#stream.write(bytes, () => resolve())
    await promise
    this.#stream.off('error', reject)
    this.#reset?.()
    const chunks = this.#chunks
    this.#chunks = []
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  }
}
