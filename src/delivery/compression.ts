/** Not by `import`, which would read all that the module exports (0.7 ms). */
const { constants, gzip, gzipSync, zstdCompress, zstdCompressSync } = process.getBuiltinModule('node:zlib')

export type Encoding = 'zstd' | 'gzip' | 'none'

const nextSmaller = { zstd: 'gzip', gzip: 'none', none: 'none' } as const

/** Below this many bytes a body is sent as it is: the round through the thread pool costs more than it saves. */
const minBytes = 1024

/** Which compression is in force: what is configured, until the service turns out not to take it. */
export class Compression {
  encoding: Encoding
  /** The service has taken a body in this encoding, or refuses bodies for another reason: a 400 is not its fault. */
  #isCleared = false

  constructor(encoding: Encoding) {
    this.encoding = encoding
  }

  encodingFor(byteLength: number): Encoding {
    return byteLength < minBytes ? 'none' : this.encoding
  }

  /** Whether a body may have been refused for its encoding. */
  isSuspect(used: Encoding): used is 'zstd' | 'gzip' {
    return used !== 'none' && !(used === this.encoding && this.#isCleared)
  }

  /** The encoding is not why a body was refused. */
  clear(used: Encoding): void {
    if (used === this.encoding) this.#isCleared = true
  }

  /** The service does not take this encoding. Several requests may find that out at once: it counts once. */
  stepDown(used: Encoding): boolean {
    if (used === 'none' || used !== this.encoding) return false
    this.encoding = nextSmaller[used]
    this.#isCleared = false
    return true
  }
}

/** Level 1: four fifths of what higher levels save, for a tenth of their time. */
const gzipOptions = { level: 1 }
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/** Compresses off the main thread. */
export async function compress(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  if (encoding === 'none') return bytes
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const done = (error: Error | null, compressed: Buffer) => (error === null ? resolve(compressed) : reject(error))
  if (encoding === 'gzip') gzip(bytes, gzipOptions, done)
  else zstdCompress(bytes, zstdOptions, done)
  return asOneFrame(await promise)
}

/** The same on this thread, where nothing can be waited for. */
export function compressNow(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'none') return bytes
  return encoding === 'gzip' ? gzipSync(bytes, gzipOptions) : asOneFrame(zstdCompressSync(bytes, zstdOptions))
}

/** What zstd makes of nothing. */
const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex')

/**
 * Where a frame just fills the buffer of 16 KiB that Node compresses into, Node has an empty one follow it, and a server
 * may take what comes after the first frame for garbage. gzip has nothing that looks like it.
 */
function asOneFrame(compressed: Buffer): Buffer {
  const end = compressed.length - emptyFrame.length
  return end > 0 && compressed.indexOf(emptyFrame, end) === end ? compressed.subarray(0, end) : compressed
}
