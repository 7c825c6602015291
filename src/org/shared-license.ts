import { NativePromise } from '../native-promise.ts'
import { monotonicMs } from '../time.ts'
import type { Report, Share } from './fleet-redis.ts'

/**
 * Maximum age of a license that this process tells the others, in milliseconds: for them, its age begins anew. A license that
 * was read while Redis was away may be older.
 */
const maxToldAgeMs = 10_000

/**
 * The license that one process of a fleet reads for all, as JSON. Redis chooses that process: the first that asks,
 * until it has read the license or is gone.
 */
export class SharedLicense {
  readonly #askSoon: () => void
  #text: string | undefined
  #version = '0'
  #readAtMs = Number.NEGATIVE_INFINITY
  /** The license that this process has read but that Redis does not have yet. */
  #unpublished: string | undefined
  #isWanted = false
  #mayRead = false
  #isReachable = true
  /** Resolves when Redis has been asked the next time, with or without success, or when the process leaves the fleet. */
  #nextAnswer = NativePromise.withResolvers<'asked' | 'closed'>()

  /** @param askSoon requests an early call to Redis; its result goes to `take` or `onUnreachable` */
  constructor(askSoon: () => void) {
    this.#askSoon = askSoon
  }

  /**
   * Returns the license, no older than `maxAgeMs`. It comes from another process, or from `read` if this process is to
   * read it or if Redis cannot be asked.
   *
   * @throws what `read` throws; another process may then read the license
   * @throws Error if the process leaves the fleet meanwhile
   */
  async get(read: () => Promise<string>, maxAgeMs: number): Promise<string> {
    for (let asked = 0; ; asked++) {
      if (this.#text !== undefined && monotonicMs() - this.#readAtMs <= maxAgeMs) {
        this.#isWanted = false
        return this.#text
      }
      if (this.#mayRead || !this.#isReachable) return this.#keep(await this.#read(read))
      this.#isWanted = true
      // Once there is a license, the calls of each lease are enough: early calls of all processes would come at the same moment.
      if (asked === 0 && this.#text === undefined) this.#askSoon()
      if ((await this.#nextAnswer.promise) === 'closed')
        throw new Error('closed while another process read the license')
    }
  }

  /** Time since the license was read, in milliseconds; `Infinity` if there is none. */
  get ageMs(): number {
    return monotonicMs() - this.#readAtMs
  }

  /** Ends waiting for another process. What Redis has answered until now does not count after a new start. */
  close(): void {
    this.#isWanted = false
    this.#mayRead = false
    this.#isReachable = true
    this.#wakeWaiters('closed')
  }

  /** The part about the license in the report to Redis. */
  get report(): Pick<Report, 'license' | 'licenseVersion' | 'wouldRead'> {
    // A client may keep the report until Redis is back, and the license may be old by then.
    const isNew = this.#isReachable && monotonicMs() - this.#readAtMs <= maxToldAgeMs
    const license = isNew ? this.#unpublished : undefined
    return { license, licenseVersion: this.#version, wouldRead: this.#isWanted }
  }

  /**
   * Learns from the answer of Redis.
   *
   * @param reported report that this process sent with the call
   */
  onShare(share: Share, reported: Pick<Report, 'license'>): void {
    if (reported.license === this.#unpublished) this.#unpublished = undefined
    if (share.license !== undefined) {
      this.#text = share.license
      // The clock of Redis may have been set back since.
      this.#readAtMs = monotonicMs() - Math.max(share.nowMs - Number(share.licenseVersion), 0)
    }
    this.#version = share.licenseVersion
    this.#mayRead = share.mayRead && this.#isWanted
    this.#isReachable = true
    this.#wakeWaiters('asked')
  }

  onUnreachable(): void {
    this.#mayRead = false
    this.#isReachable = false
    this.#wakeWaiters('asked')
  }

  /** Reads the license. If that fails, this process no longer offers to: its token may not be allowed to. */
  async #read(read: () => Promise<string>): Promise<string> {
    try {
      return await read()
    } catch (error) {
      this.#isWanted = false
      this.#mayRead = false
      if (this.#isReachable) this.#askSoon() // so that Redis chooses another process
      throw error
    }
  }

  #keep(text: string): string {
    this.#text = text
    this.#readAtMs = monotonicMs()
    this.#unpublished = text
    this.#isWanted = false
    this.#mayRead = false
    if (this.#isReachable) this.#askSoon()
    return text
  }

  #wakeWaiters(why: 'asked' | 'closed'): void {
    const { resolve } = this.#nextAnswer
    this.#nextAnswer = NativePromise.withResolvers()
    resolve(why)
  }
}
