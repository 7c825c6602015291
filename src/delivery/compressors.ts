import type { Gzip, ZlibReset, ZstdCompress } from 'node:zlib'
import { builtinModule } from '../options/node-version.ts'
import { type Encoding, gzipOptions, toBeKept, zstdOptions } from './compression.ts'

/** `builtinModule` replaces `import`, which would read every export of the module (0.7 ms). */
const { constants, createGzip, createZstdCompress } = builtinModule('node:zlib')

/** Size of an output buffer, in bytes. Node returns to this thread each time that a buffer is full. */
const chunkSize = 262_144

type Compressed = Exclude<Encoding, 'none'>

/**
 * Compresses bodies off the main thread, with streams that are reused. A new stream for each body takes twice the time
 * of the main thread. V8 also learns of each stream's memory. Under load it then collects all garbage several times a
 * second. It takes the objects that are alive at that moment as a reason to grow its young generation.
 */
export class Compressors {
  /** Idle streams: at most as many as there were bodies at the same time. */
  readonly #idle: Record<Compressed, Compressor[]> = { zstd: [], gzip: [] }

  async compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
    if (encoding === 'none') return bytes
    const idle = this.#idle[encoding]
    const compressor = idle.pop() ?? new Compressor(encoding)
    const compressed = await compressor.compress(bytes)
    idle.push(compressor) // a compressor that failed is not reused
    return toBeKept(compressed)
  }

  /** Releases the idle streams. The next body creates a new stream. */
  clear(): void {
    this.#idle.zstd.length = 0
    this.#idle.gzip.length = 0
  }
}

/** Compresses one body at a time, each to a whole frame. */
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
