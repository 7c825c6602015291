import type { RequestDemand } from '../delivery/demand.ts'
import type { Lease } from '../delivery/rate-limiter.ts'
import { ownProperties } from '../options/own-properties.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { type Redact, toShortLine } from '../text/short-line.ts'
import { clearInterval, clearTimeout, monotonicMs, setInterval, setTimeout } from '../time.ts'
import { type RedisClient, Register, type Share } from './fleet-redis.ts'
import { SharedLicense } from './shared-license.ts'
import { oneAt, Slots } from './slots.ts'

export type { RedisClient } from './fleet-redis.ts'

export interface FleetSettings {
  readonly redis: RedisClient
  /** What the processes have in common: the id of the organization whose license they share. */
  readonly key: string
  /**
   * Most requests per second of all processes together by the license, the same in each: `Infinity` when it names no limit,
   * `undefined` while it is not known.
   */
  readonly limitPerSecond: () => number | undefined
  /** The same by the headers of the answers to this process; `undefined` when they name none. */
  readonly headerLimit: () => number | undefined
  /** What this process could use. */
  readonly demand: (nowMs: number) => RequestDemand
  /** Whether this process has something to send. */
  readonly isWaiting: () => boolean
  /** Takes the slots to use from now on; `undefined` when there are none and the limit alone holds. */
  readonly onLease: (lease: Lease | undefined) => void
  /** Told once that Redis cannot be asked; again only after it could. */
  readonly onTrouble: (message: string) => void
  /** Takes secrets out of what Redis says. */
  readonly redact?: Redact
  /** How long a lease lasts, in milliseconds; the same in all processes. */
  readonly leaseMs?: number
  /** Gives numbers from 0 to 1. */
  readonly random?: () => number
}

/** Longest time that an answer of Redis is waited for, in milliseconds. */
const answerMs = 1000
const leaveMs = 250
/** How long requests wait for the license that another process reads, in milliseconds: what waits is not to grow old. */
const licenseMs = 2500
/** How often Redis is asked for it meanwhile, in milliseconds. */
const whileHoldingMs = 250
/** Waits before Redis is asked again, in milliseconds: from the first, doubled each time. */
const firstRetryMs = 250
const maxRetryMs = 10_000
/** Redis is asked before the lease is over where something is to be sent anew, and no slot comes within this part of it. */
const soonPart = 0.4
/** A process is a guest again when so many times a lease have passed: others come as well. */
const guestAgainPart = 4
/** How far two clocks drift apart, in milliseconds per millisecond. */
const drift = 1e-4

/**
 * Shares a limit on requests, and the license that names it, with other processes through Redis. One call per lease tells
 * what this process could use, and brings the slots that are its own until the next one. While Redis is away every process
 * keeps the slots that it has: no other has them.
 */
export class Fleet {
  readonly license = new SharedLicense(() => this.#callIn(0))
  readonly #settings: FleetSettings
  readonly #leaseMs: number
  readonly #random: () => number
  readonly #register: Register
  readonly #id = crypto.randomUUID()
  #timer: NodeJS.Timeout | undefined
  #looks: NodeJS.Timeout | undefined
  /** Counts starts and closes: what one run has under way does nothing in the next. */
  #run = 0
  #isOpen = false
  #isCalling = false
  /** Something came up while a call was under way that it does not tell of. */
  #isAskedAgain = false
  #startedMs = 0
  #calledMs = Number.NEGATIVE_INFINITY
  /** Whether there was something to send when Redis was asked last. */
  #wasWaiting = false
  #lastRenewInMs = 0
  #failures = 0
  /** What Redis has said last; `undefined` while it has said nothing. */
  #share: Share | undefined
  #lease: Lease | undefined
  #leasedLimit: number | undefined
  /** The one request besides the slots, by our clock. */
  #guestMs = Number.NEGATIVE_INFINITY
  /** How far Redis' clock is ahead of ours, and how far that may be off, in milliseconds. */
  #ahead = { ms: 0, errorMs: Number.POSITIVE_INFINITY, atMs: 0 }

  constructor(settings: FleetSettings) {
    this.#settings = settings
    const { leaseMs = 5000, random = Math.random } = ownProperties(settings)
    this.#leaseMs = leaseMs
    this.#random = random
    this.#register = new Register(settings.redis, settings.key, this.#leaseMs)
  }

  start(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#share = undefined
    this.#run++
    this.#startedMs = monotonicMs()
    this.#give(oneAt(this.#startedMs + answerMs))
    this.#looks = setInterval(() => this.#look(), this.#leaseMs / 5).unref()
    void this.#call()
  }

  /** Leaves the fleet, and gives back the slots, which are not to be used any more. */
  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#run++
    clearTimeout(this.#timer)
    clearInterval(this.#looks)
    if (this.#calledMs >= this.#startedMs) await inTime(this.#register.leave(this.#id), leaveMs).catch(() => {})
  }

  /** Gives the slots that follow from what Redis has said and from the limit as it is now. */
  apply(): void {
    const share = this.#share
    if (share === undefined || !this.#isOpen) return
    const limit = this.#limitPerSecond
    this.#leasedLimit = limit
    if (limit !== undefined && limit !== Number.POSITIVE_INFINITY) {
      return this.#give(new Slots(share, limit, this.#ahead.ms, this.#guestMs))
    }
    const heldUntilMs = this.#startedMs + licenseMs
    this.#give(limit === undefined && monotonicMs() < heldUntilMs ? oneAt(heldUntilMs) : undefined)
  }

  async #call(): Promise<void> {
    if (this.#isCalling) {
      this.#isAskedAgain = true
      return
    }
    const run = this.#run
    const askedMs = monotonicMs()
    this.#isCalling = true
    this.#isAskedAgain = false
    this.#calledMs = askedMs
    clearTimeout(this.#timer)
    try {
      const report = { ...this.#report(askedMs), ...this.license.report }
      const share = await inTime(this.#register.renew(this.#id, report), Math.min(answerMs, this.#leaseMs / 4))
      if (run === this.#run) this.#take(share, askedMs, report)
    } catch (error) {
      if (run === this.#run) this.#retry(error)
    } finally {
      this.#isCalling = false
      if (run !== this.#run && this.#isOpen) void this.#call() // closed and started again meanwhile
    }
  }

  #report(nowMs: number) {
    const { demand, isWaiting, headerLimit } = this.#settings
    const limit = this.#limitPerSecond ?? 0
    const isNew = nowMs - this.#startedMs < 2 * this.#leaseMs && !this.#share?.arcs.length
    const isLongAgo = nowMs - this.#guestMs > guestAgainPart * this.#leaseMs
    const isSurprised = isWaiting() && (!this.#wasWaiting || isNew)
    const isGuest = isSurprised && isLongAgo && !this.#hasSlotWithin(soonPart * this.#leaseMs, nowMs)
    this.#wasWaiting = isWaiting()
    const { needed, wanted } = limit > 0 ? demand(nowMs) : { needed: 0, wanted: 0 }
    return {
      needed: limit > 0 ? needed / limit : 0,
      wanted: limit > 0 ? wanted / limit : 0,
      arcs: this.#share?.arcs ?? [],
      limitPerSecond: limit,
      headerLimit: headerLimit(),
      isGuest,
    }
  }

  #take(share: Share, askedMs: number, report: { readonly license: string | undefined }): void {
    const nowMs = monotonicMs()
    this.#failures = 0
    this.#share = share
    this.#measureAhead(share.nowMs - (askedMs + nowMs) / 2, (nowMs - askedMs) / 2, nowMs)
    if (share.guestMs !== undefined) this.#guestMs = share.guestMs - this.#ahead.ms
    this.#callIn(this.#isAskedAgain ? 0 : this.#renewInMs(share, nowMs))
    this.license.take(share, report)
    this.apply()
  }

  /** Not all at once: those that started together are spread when they begin to ask more seldom. */
  #renewInMs({ renewInMs }: Share, nowMs: number): number {
    const isHolding = this.#limitPerSecond === undefined && nowMs < this.#startedMs + licenseMs
    const nextMs = isHolding ? Math.min(whileHoldingMs, renewInMs) : renewInMs
    const [min, max] = nextMs > this.#lastRenewInMs ? [0.2, 1] : [0.8, 1.2]
    this.#lastRenewInMs = nextMs
    return nextMs * (min + (max - min) * this.#random())
  }

  /** What was measured while nothing was slow is the nearest to the truth, until the clocks have drifted. */
  #measureAhead(ms: number, errorMs: number, nowMs: number): void {
    if (errorMs <= this.#ahead.errorMs + (nowMs - this.#ahead.atMs) * drift) this.#ahead = { ms, errorMs, atMs: nowMs }
  }

  /** The least limit that is known; `Infinity` when there is none, `undefined` while the license is not known. */
  get #limitPerSecond(): number | undefined {
    const { limitPerSecond, headerLimit } = this.#settings
    const limit = Math.min(
      limitPerSecond() ?? Number.POSITIVE_INFINITY,
      headerLimit() ?? Number.POSITIVE_INFINITY,
      this.#share?.headerLimit ?? Number.POSITIVE_INFINITY,
    )
    return limit === Number.POSITIVE_INFINITY && limitPerSecond() === undefined ? undefined : limit
  }

  #give(lease: Lease | undefined): void {
    if (lease === undefined && this.#lease === undefined) return
    this.#lease = lease
    this.#settings.onLease(lease)
  }

  #hasSlotWithin(ms: number, nowMs: number): boolean {
    return this.#share !== undefined && this.#lease !== undefined && this.#lease.nextMs(nowMs) <= nowMs + ms
  }

  /** From time to time: the limit may be another one, or more be wanted than the lease was made for. */
  #look(): void {
    const nowMs = monotonicMs()
    const isUnknown = this.#leasedLimit === undefined && this.#lease !== undefined
    if (this.#limitPerSecond !== this.#leasedLimit || isUnknown) this.apply()
    const mayAsk = this.#lease !== undefined && this.#failures === 0 && nowMs - this.#calledMs >= this.#leaseMs / 10
    if (this.#wasWaiting || !mayAsk) return
    if (this.#settings.isWaiting() && !this.#hasSlotWithin(soonPart * this.#leaseMs, nowMs)) this.#callIn(0)
  }

  #retry(error: unknown): void {
    if (this.#share === undefined) this.#give(undefined)
    this.license.onUnreachable()
    if (this.#failures++ === 0) {
      const meanwhile =
        this.#share === undefined ? 'finds its share by itself' : 'keeps its last share of the request rate'
      const said = error instanceof Error ? error.message : error
      const reason = toShortLine(String(said), this.#settings.redact) || 'no reason given'
      this.#settings.onTrouble(
        `the fleet's Redis cannot be asked (${reason}). Until it can, this process ${meanwhile}.`,
      )
    }
    const delayMs = Math.min(firstRetryMs * 2 ** (this.#failures - 1), maxRetryMs)
    this.#callIn(delayMs * (0.5 + this.#random() / 2))
  }

  #callIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isOpen) this.#timer = setTimeout(() => void this.#call(), ms).unref()
  }
}

async function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds(ms)}`)), ms).unref()
  try {
    return await Promise.race([answer, promise])
  } finally {
    clearTimeout(timer)
  }
}
