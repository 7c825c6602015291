import { monotonicMs } from '../time.ts'
import type { Report, Share } from './fleet-redis.ts'

/**
 * The license that one process of a fleet reads for all, as JSON. Which one that is, Redis says: the first that asks, until
 * it has read it, or is gone.
 */
export class SharedLicense {
  readonly #askSoon: () => void
  #text: string | undefined
  #version = '0'
  #readAtMs = Number.NEGATIVE_INFINITY
  /** What this process has read, and Redis has not got yet. */
  #unpublished: string | undefined
  #isWanted = false
  #mayRead = false
  #isReachable = true
  #news = Promise.withResolvers<void>()

  /** @param askSoon has Redis asked soon: what comes of it is given to `take` or `onUnreachable` */
  constructor(askSoon: () => void) {
    this.#askSoon = askSoon
  }

  /**
   * The license, no older than `maxAgeMs`: that of another process, or what `read` gives where it is for this one to read
   * it, or where Redis cannot be asked.
   *
   * @throws what `read` throws; then this process remains the one that reads it
   */
  async get(read: () => Promise<string>, maxAgeMs: number): Promise<string> {
    for (let asked = 0; ; asked++) {
      if (this.#text !== undefined && monotonicMs() - this.#readAtMs <= maxAgeMs) return this.#text
      if (this.#mayRead || !this.#isReachable) return this.#take(await read())
      this.#isWanted = true
      if (asked === 0) this.#askSoon() // then the calls of each lease will do
      await this.#news.promise
    }
  }

  /** What this process tells of the license when it calls. */
  get report(): Pick<Report, 'license' | 'licenseVersion' | 'wouldRead'> {
    return { license: this.#unpublished, licenseVersion: this.#version, wouldRead: this.#isWanted }
  }

  /** @param reported what this process has told in that call */
  take(share: Share, reported: Pick<Report, 'license'>): void {
    if (reported.license === this.#unpublished) this.#unpublished = undefined
    if (share.license !== undefined) {
      this.#text = share.license
      this.#readAtMs = monotonicMs() - (share.nowMs - Number(share.licenseVersion))
    }
    this.#version = share.licenseVersion
    this.#mayRead = share.mayRead && this.#isWanted
    this.#tell(true)
  }

  onUnreachable(): void {
    this.#mayRead = false
    this.#tell(false)
  }

  #take(text: string): string {
    this.#text = text
    this.#readAtMs = monotonicMs()
    this.#unpublished = text
    this.#isWanted = false
    this.#mayRead = false
    if (this.#isReachable) this.#askSoon()
    return text
  }

  #tell(isReachable: boolean): void {
    this.#isReachable = isReachable
    const { resolve } = this.#news
    this.#news = Promise.withResolvers()
    resolve()
  }
}
