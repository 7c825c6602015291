import { builtinModule } from '../options/node-version.ts'

/** Not by `import`, which would read all that the module exports (0.7 ms). */
const { constants, gzipSync, zstdCompressSync } = builtinModule('node:zlib')

export type Encoding = 'zstd' | 'gzip' | 'none'

const nextSmaller = { zstd: 'gzip', gzip: 'none', none: 'none' } as const

/** Below this many bytes a body is sent as it is: the round through the thread pool costs more than it saves. */
const minBytes = 1024

/** How long it takes until an encoding that was refused is tried again, in milliseconds; doubled each time that it is. */
const firstProbeAfterMs = 60_000
const maxProbeAfterMs = 86_400_000

/**
 * Which compression is in force: what is configured, until the service turns out not to take it. What it refused is tried
 * again from time to time, with one batch: the service may have been in trouble, or may have learned it. Times are
 * monotonic, in milliseconds.
 */
export class Compression {
  encoding: Encoding
  /** The encodings that are better than the one in force, and refused; the best one first. */
  readonly #refused: Encoding[] = []
  /** The service has taken a body in this encoding, or refuses bodies for another reason: a 400 is not its fault. */
  #isCleared = false
  #probeAfterMs = firstProbeAfterMs
  #probeAtMs = Number.POSITIVE_INFINITY

  constructor(encoding: Encoding) {
    this.encoding = encoding
  }

  /** The encoding of a body, once: where it is time to try a better one, the next body gets that. */
  encodingFor(byteLength: number, nowMs: number): Encoding {
    if (byteLength < minBytes) return 'none'
    const better = this.#refused.at(-1)
    if (better === undefined || nowMs < this.#probeAtMs) return this.encoding
    this.#probeAtMs = nowMs + this.#probeAfterMs
    return better
  }

  /** Whether a body may have been refused for its encoding. */
  isSuspect(used: Encoding): used is 'zstd' | 'gzip' {
    return used !== 'none' && !(used === this.encoding && this.#isCleared)
  }

  /** The encoding is not why a body was refused, or the body was taken. */
  clear(used: Encoding): void {
    if (used === this.encoding) this.#isCleared = true
  }

  /** The service has taken a body in this encoding: it may be better than the one in force. */
  accept(used: Encoding, nowMs: number): void {
    if (used === this.#refused.at(-1)) {
      this.#refused.pop()
      this.encoding = used
      this.#probeAfterMs = firstProbeAfterMs
      this.#probeAtMs = nowMs + firstProbeAfterMs
    }
    this.clear(used)
  }

  /** The service does not take this encoding. Several requests may find that out at once: it counts once. */
  stepDown(used: Encoding, nowMs: number): boolean {
    if (used === 'none') return false
    if (used === this.#refused.at(-1)) this.#probeAfterMs = Math.min(this.#probeAfterMs * 2, maxProbeAfterMs)
    else if (used !== this.encoding) return false
    this.#probeAtMs = nowMs + this.#probeAfterMs
    if (used !== this.encoding) return false
    this.#refused.push(used)
    this.encoding = nextSmaller[used]
    this.#isCleared = false
    return true
  }
}

/** Level 1: four fifths of what higher levels save, for a tenth of their time. */
export const gzipOptions = { level: 1 }
export const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Compresses on this thread, where nothing can be waited for. */
export function compressNow(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'none') return bytes
  const chunkSize = Math.max(bytes.length >> 1, 16_384) // in one go, as a rule
  if (encoding === 'gzip') return toBeKept(gzipSync(bytes, { ...gzipOptions, chunkSize }))
  return toBeKept(zstdCompressSync(bytes, { ...zstdOptions, chunkSize }))
}

/** What has been compressed: one frame, and not a small part of a larger buffer, which would all be kept with it. */
export function toBeKept(compressed: Buffer): Buffer {
  const frame = asOneFrame(compressed)
  return frame.length < frame.buffer.byteLength / 2 ? Buffer.from(frame) : frame
}

/** What zstd makes of nothing. */
const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex')

/**
 * Where a frame just fills the buffer that Node compresses into, Node has an empty one follow it, and a server
 * may take what comes after the first frame for garbage. gzip has nothing that looks like it.
 */
function asOneFrame(compressed: Buffer): Buffer {
  const end = compressed.length - emptyFrame.length
  return end > 0 && compressed.indexOf(emptyFrame, end) === end ? compressed.subarray(0, end) : compressed
}
