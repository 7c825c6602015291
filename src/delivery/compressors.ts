import { type Compressed, codecs, type Encoding, encodings, type FrameStream } from '../http/encodings.ts'
import { NativePromise } from '../native-promise.ts'
import { builtinModule } from '../node-version.ts'

/** `builtinModule` replaces `import`, which would read every export of the module (0.7 ms). */
const zlib = builtinModule('node:zlib')

/** Size of an output buffer, in bytes. Node returns to this thread each time that a buffer is full. */
const chunkSize = 262_144

/**
 * Maximum number of bodies that are compressed at the same time: Node's thread pool has as many threads. Each stream
 * holds 1 to 2 MB that no budget counts.
 */
const maxAtOnce = 4

/**
 * Compresses bodies off the main thread, with streams that are reused. A new stream for each body takes twice the time
 * of the main thread. V8 also learns of each stream's memory. Under load it then collects all garbage several times a
 * second. It takes the objects that are alive at that moment as a reason to grow its young generation.
 *
 * Users call `join` first and `leave` at last. When the last one has left, the streams are released.
 */
export class Compressors {
  readonly #idle = new Map<Encoding, Compressor[]>(encodings.map(encoding => [encoding, []]))
  #users = 0
  #atOnce = 0
  /** Calls of the bodies that wait for their turn, the oldest first. */
  readonly #waiting: (() => void)[] = []

  join(): void {
    this.#users++
  }

  leave(): void {
    if (--this.#users > 0) return
    for (const idle of this.#idle.values()) for (const compressor of idle.splice(0)) compressor.release()
  }

  async compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
    if (encoding === 'none') return bytes
    await this.#begin()
    try {
      const idle = this.#idle.get(encoding) as Compressor[]
      const compressor = idle.pop() ?? new Compressor(encoding)
      const compressed = await compressor.compress(bytes)
      if (this.#users > 0) idle.push(compressor)
      else compressor.release()
      return toBeKept(compressed, encoding)
    } finally {
      this.#end()
    }
  }

  /** Resolves when it is the caller's turn. `end` must follow. */
  async #begin(): Promise<void> {
    if (this.#atOnce < maxAtOnce) {
      this.#atOnce++
      return
    }
    const { promise, resolve } = NativePromise.withResolvers<void>()
    this.#waiting.push(resolve)
    await promise
  }

  #end(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#atOnce--
    else next()
  }
}

/** The compressors of all shippers of the process, which has one thread pool. */
export const compressors = new Compressors()

/** Compresses one body at a time, each to a whole frame. A compressor that fails releases itself. */
class Compressor {
  readonly #frames: FrameStream
  #chunks: Buffer[] = []

  constructor(encoding: Compressed) {
    this.#frames = codecs[encoding].createStream(zlib, chunkSize)
    this.#frames.stream.on('data', chunk => this.#chunks.push(chunk))
  }

  async compress(bytes: Buffer): Promise<Buffer> {
    const { stream, reset } = this.#frames
    const { promise, resolve, reject } = NativePromise.withResolvers<void>()
    stream.once('error', reject)
    stream.write(bytes, () => resolve())
    await promise
    stream.off('error', reject)
    reset?.()
    const chunks = this.#chunks
    this.#chunks = []
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  }

  /** Frees the memory of the stream now. The next full collection of garbage may be tens of megabytes away. */
  release(): void {
    this.#frames.stream.destroy()
  }
}

/** Compresses synchronously on this thread, for use when no promise can be awaited. */
export function compressNow(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'none') return bytes
  const chunkSize = Math.max(bytes.length >> 1, 16_384) // usually one chunk is enough
  return toBeKept(codecs[encoding].compressSync(zlib, bytes, chunkSize), encoding)
}

/**
 * Returns the compressed bytes as one frame. A small part of a larger buffer is copied, because keeping the part would
 * keep the whole buffer. The copy has a buffer of its own, outside of Node's pool.
 */
function toBeKept(compressed: Buffer, encoding: Compressed): Buffer {
  const frame = codecs[encoding].toOneFrame?.(compressed) ?? compressed
  if (frame.length >= frame.buffer.byteLength / 2) return frame
  const copy = Buffer.allocUnsafeSlow(frame.length)
  frame.copy(copy)
  return copy
}
