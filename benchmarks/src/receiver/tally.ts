import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { eachNumber } from './numbers.ts'

/** What has arrived of a run. */
export interface Arrived {
  readonly delivered: number
  readonly duplicated: number
  readonly requests: number
  /** Bytes of request bodies, as sent. */
  readonly wireBytes: number
  /** When the last body was complete, on the clock of `process.hrtime`, in nanoseconds; 0 when none came. */
  readonly lastBodyAtNs: number
}

export type Encoding = 'none' | 'gzip' | 'zstd' | 'snappy'

/** Compressed bodies wait until the run is over, so that decoding takes no processor from it: up to so many bytes. */
const maxWaitingBytes = 512 * 1024 * 1024

const gunzip = promisify(zlib.gunzip)
const zstdDecompress = promisify(zlib.zstdDecompress)

/** Counts which of the events 0 … `expected` − 1 have arrived, and how often. Others belong to the warm-up. */
export class Tally {
  readonly #times: Uint8Array
  #delivered = 0
  #duplicated = 0
  #requests = 0
  #wireBytes = 0
  #lastBodyAtNs = 0
  #waiting: { encoding: Encoding; body: Buffer }[] = []
  #waitingBytes = 0
  #decoding: Promise<void> = Promise.resolve()

  constructor(expected: number) {
    this.#times = new Uint8Array(expected)
  }

  /** Takes a body. The caller goes on to use `body` for something else. */
  add(encoding: Encoding, body: Buffer): void {
    this.#requests += 1
    this.#wireBytes += body.length
    this.#lastBodyAtNs = Number(process.hrtime.bigint())
    if (encoding === 'none') return this.#count(body)
    this.#waiting.push({ encoding, body: Buffer.from(body) })
    this.#waitingBytes += body.length
    if (this.#waitingBytes > maxWaitingBytes) void this.#decodeWaiting()
  }

  /** What can be told without decoding. */
  get requests(): number {
    return this.#requests
  }

  async total(): Promise<Arrived> {
    await this.#decodeWaiting()
    return {
      delivered: this.#delivered,
      duplicated: this.#duplicated,
      requests: this.#requests,
      wireBytes: this.#wireBytes,
      lastBodyAtNs: this.#lastBodyAtNs,
    }
  }

  #decodeWaiting(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    this.#decoding = this.#decoding.then(async () => {
      for (const { encoding, body } of waiting) this.#count(await decoded(encoding, body))
    })
    return this.#decoding
  }

  #count(body: Buffer): void {
    const times = this.#times
    eachNumber(body, n => {
      if (n >= times.length) return
      if (times[n] === 0) this.#delivered += 1
      else this.#duplicated += 1
      times[n] = 1
    })
  }
}

async function decoded(encoding: Encoding, body: Buffer): Promise<Buffer> {
  if (encoding === 'gzip') return gunzip(body)
  if (encoding === 'zstd') return zstdDecompress(body)
  const { uncompress } = await import('snappy')
  return (await uncompress(body, { asBuffer: true })) as Buffer
}
