import type { Lease } from '../delivery/pace.ts'
import { ownProperties } from '../options/own-properties.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { type Redact, toShortLine } from '../text/short-line.ts'
import { clearTimeout, monotonicMs, setTimeout } from '../time.ts'
import { type RedisClient, Register, type Registration } from './fleet-redis.ts'

export type { RedisClient } from './fleet-redis.ts'

export interface FleetSettings {
  readonly redis: RedisClient
  /** What the processes have in common: the id of the organization whose licence they share. */
  readonly key: string
  /** Most requests per second of all processes together, the same in each; `undefined` while it is not known. */
  readonly limitPerSecond: () => number | undefined
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

/** Part of the limit that is used: clocks, timers and networks are off by some milliseconds. */
const usedPart = 0.98
/** How often a limit that is not known is looked for, in milliseconds. */
const unknownLimitMs = 250
/** Longest time that an answer of Redis is waited for, in milliseconds. */
const answerMs = 1000
const leaveMs = 250
/** Waits before Redis is asked again, in milliseconds: from the first, doubled each time. */
const firstRetryMs = 250
const maxRetryMs = 10_000

/**
 * Shares a limit on requests with other processes through Redis, by time-division: the limit makes a row of slots, the
 * same for all by Redis' clock, and of n processes each has every n-th. One call to Redis per lease says which.
 *
 * A lease is for the term after the one in which it is asked for, and is drawn from those who registered in the term
 * before, so all agree on it. Whoever joins waits for its first slots, for one lease to two; a process that is alone has
 * them at once. When a process leaves, its slots stay empty as long. While Redis is away everyone keeps the slots it has.
 */
export class Fleet {
  readonly #settings: FleetSettings
  readonly #leaseMs: number
  readonly #random: () => number
  readonly #register: Register
  readonly #id = crypto.randomUUID()
  #timer: NodeJS.Timeout | undefined
  /** Counts starts and closes: what one run has under way does nothing in the next. */
  #run = 0
  #isOpen = false
  #hasRegistered = false
  #hasSlots = false
  #failures = 0

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
    this.#hasRegistered = false
    this.#hasSlots = false
    this.#run++
    void this.#renew()
  }

  /** Leaves the fleet. The slots leased remain ours until the others have learnt of it, so they stay in force. */
  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#run++
    clearTimeout(this.#timer)
    if (this.#hasRegistered) await inTime(this.#register.leave(this.#id), leaveMs).catch(() => {})
  }

  async #renew(): Promise<void> {
    const { onLease, limitPerSecond } = this.#settings
    if (limitPerSecond() === undefined) {
      if (this.#hasSlots) onLease(undefined)
      this.#hasSlots = false
      return this.#after(unknownLimitMs, () => void this.#renew())
    }
    const run = this.#run
    const askedMs = monotonicMs()
    if (!this.#hasRegistered) this.#beGuest(askedMs + answerMs)
    this.#hasRegistered = true
    try {
      const registration = await inTime(this.#register.register(this.#id), Math.min(answerMs, this.#leaseMs / 4))
      if (run === this.#run) this.#take(registration, registration.nowMs - (askedMs + monotonicMs()) / 2)
    } catch (error) {
      if (run === this.#run) this.#retry(error)
    }
  }

  /** @param aheadMs how far Redis' clock is ahead of ours, in milliseconds */
  #take({ nowMs, processes, rank, registered }: Registration, aheadMs: number): void {
    this.#failures = 0
    const nextTermMs = (Math.floor(nowMs / this.#leaseMs) + 1) * this.#leaseMs
    if (rank === -1 && !this.#hasSlots) {
      const isAlone = processes === 0 && registered === 1
      if (isAlone) this.#lease(1, 0, nowMs, aheadMs)
      else if (registered - processes <= this.#mostGuests()) this.#beGuest(monotonicMs())
      else this.#beGuest(nextTermMs + this.#leaseMs - aheadMs)
    }
    this.#after(nextTermMs - aheadMs - monotonicMs(), () => {
      if (rank !== -1) this.#lease(processes, rank, nextTermMs, aheadMs)
      // Not all at once, and early enough to try again in the same term.
      this.#after(this.#leaseMs * (0.1 + 0.6 * this.#random()), () => void this.#renew())
    })
  }

  #lease(processes: number, rank: number, fromMs: number, aheadMs: number): void {
    const limit = this.#settings.limitPerSecond()
    if (limit === undefined) return
    this.#hasSlots = true
    this.#settings.onLease(leaseOf(processes, rank, limit, fromMs, aheadMs))
  }

  /** Without slots a process is a guest: from then on, it may make one request in the time of a lease. */
  #beGuest(fromMs: number): void {
    this.#settings.onLease({ firstSlotMs: fromMs + this.#leaseMs * this.#random(), periodMs: this.#leaseMs })
  }

  /** Guests for whom there is room besides the slots. */
  #mostGuests(): number {
    return Math.max(((this.#settings.limitPerSecond() ?? 0) * (1 - usedPart) * this.#leaseMs) / 1000, 1)
  }

  #retry(error: unknown): void {
    if (!this.#hasSlots) this.#settings.onLease(undefined)
    if (this.#failures++ === 0) {
      const meanwhile = this.#hasSlots ? 'keeps its last share of the request rate' : 'finds its share by itself'
      const said = error instanceof Error ? error.message : error
      const reason = toShortLine(String(said), this.#settings.redact) || 'no reason given'
      this.#settings.onTrouble(
        `the fleet's Redis cannot be asked (${reason}). Until it can, this process ${meanwhile}.`,
      )
    }
    const delayMs = Math.min(firstRetryMs * 2 ** (this.#failures - 1), maxRetryMs)
    this.#after(delayMs * (0.5 + this.#random() / 2), () => void this.#renew())
  }

  #after(ms: number, run: () => void): void {
    this.#timer = setTimeout(run, Math.max(ms, 0)).unref()
  }
}

/**
 * The slots of one process of several: those of the row whose number leaves `rank` when divided by `processes`.
 *
 * @param fromMs Redis' time from which they count, in milliseconds
 * @param aheadMs how far Redis' clock is ahead of ours, in milliseconds
 */
export function leaseOf(
  processes: number,
  rank: number,
  limitPerSecond: number,
  fromMs: number,
  aheadMs: number,
): Lease {
  const slotMs = 1000 / (limitPerSecond * usedPart)
  const slot = Math.ceil(fromMs / slotMs - 0.001) // one that is due at that very moment is not to be lost by rounding
  const ours = slot + ((((rank - slot) % processes) + processes) % processes)
  return { firstSlotMs: ours * slotMs - aheadMs, periodMs: processes * slotMs }
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
