import type { RequestDemand } from '../delivery/demand.ts'
import type { NamedLimit } from '../delivery/header-limit.ts'
import type { Lease } from '../delivery/rate-limiter.ts'
import type { RedisClient } from '../options/redis-client.ts'
import { ownProperties } from '../own-properties.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { type Redact, toShortLine } from '../text/short-line.ts'
import { clearInterval, clearTimeout, monotonicMs, setInterval, setTimeout, systemTimeMs } from '../time.ts'
import { ownDeadline, settlesWithin } from '../time-limits.ts'
import { Register, type Report, type Share } from './fleet-redis.ts'
import { SharedLicense } from './shared-license.ts'
import { type Arc, nothingHeld, oneAt, partOf, Slots } from './slots.ts'

interface FleetSettings {
  readonly redis: RedisClient
  /** Key that the processes have in common: the id of the organization whose license they share. */
  readonly key: string
  /**
   * Requests per second that the license allows all processes together, the same in each process. `Infinity` if the
   * license names no limit, `undefined` while it is unknown.
   */
  readonly limitPerSecond: () => number | undefined
  /**
   * Requests per second that the headers of the answers to this process allow all processes together. `undefined` if
   * they name no limit.
   */
  readonly headerLimit: () => number | undefined
  /** The same limit while answers name it. `nowMs` is monotonic. */
  readonly namedHeaderLimit: (nowMs: number) => NamedLimit | undefined
  /**
   * Number of requests per second up to which a process sends rarely: slots of its own would come too seldom. The same in
   * all processes.
   */
  readonly rarePerSecond: number
  /** Returns the demand of this process. `nowMs` is monotonic. */
  readonly demand: (nowMs: number) => RequestDemand
  /** True if this process has something to send. */
  readonly isWaiting: () => boolean
  /** Returns the number of requests made so far that were not refused with 429. */
  readonly requests: () => number
  /** Called with the slots to use from now on, or with `undefined` if the limit applies without slots. */
  readonly onLease: (lease: Lease | undefined) => void
  /** Called when the license of another process has come. */
  readonly onLicense?: () => void
  /** Called when Redis cannot be asked. Called again only if Redis has answered since. */
  readonly onTrouble: (message: string) => void
  /** Removes secrets from texts of Redis. */
  readonly redact?: Redact
  /**
   * Duration of a lease, in milliseconds; the same in all processes.
   *
   * @defaultValue 5000
   */
  readonly leaseMs?: number
  /**
   * Returns numbers from 0 to 1.
   *
   * @defaultValue `Math.random`
   */
  readonly random?: () => number
}

/** Minimum share of a process that has one, in requests per second, unless processes have turns. */
const minSharePerSecond = 1 / 600
/** Share of a limit in headers with which a process soon hears by itself if the limit still holds, in requests per second. */
const minAnswersPerSecond = 1 / 60
/**
 * Maximum wait for an answer of Redis, in milliseconds by an `ownDeadline`: for the first one, and for later ones. Where many
 * processes start at once, each waits for a processor most of the time. If all of them sent requests without slots then, the
 * service would refuse most.
 */
const firstAnswerMs = 2000
const answerMs = 1000
/** The longest of these waits by the clock, in multiples of them. */
const maxWaits = 3
/** Maximum wait for the answer when the fleet closes, in milliseconds. */
const leaveMs = 250
/**
 * Time after the start within which failures are those of a client that is still connecting, in milliseconds by an
 * `ownDeadline`.
 */
const connectMs = 500
/**
 * Maximum time from the first answer of Redis for which requests wait for the license that another process reads, in
 * milliseconds. Waiting events must not get old.
 */
const licenseMs = 2500
/** Interval between calls to Redis while requests wait for the license, in milliseconds. */
const whileHoldingMs = 250
/**
 * Delay before Redis is asked again after a failure, in milliseconds. It starts at the first value and doubles up to
 * the second.
 */
const firstRetryMs = 250
const maxRetryMs = 10_000
/**
 * Number of calls without an answer from which on Redis is asked ever more rarely. A client may keep calls until it is
 * connected again: all of them in memory, and then all of them at once for Redis, of each process.
 */
const maxOpenCalls = 12
/**
 * Part of a lease. If events start to wait and no slot comes within it, the process asks Redis before the lease ends.
 */
const soonPart = 0.3
/** Number of leases for which Redis is not asked early again after such a call has brought no slot. */
const earlyInVainLeases = 6
/**
 * Limit above which the processes share nothing, in requests per second. They do not reach it, and so short slots could
 * not be told apart. Services write 2^31 − 1, for example, for no limit.
 */
const maxSharedPerSecond = 100_000
/** Time since the last answer of Redis after which a process that has turns also uses free places, in leases. */
const spareAfterLeases = 1.4
/** Drift between two clocks, in milliseconds per millisecond. */
const drift = 1e-4
/** Step of the time that Redis answers, in milliseconds. */
const redisStepMs = 1

/**
 * Shares a request limit, and the license that names the limit, with other processes through Redis.
 *
 * One call per lease reports the demand of this process, and brings the slots that it alone may use until the next
 * call. While Redis is away, every process keeps its slots, because no other process has them.
 */
export class Fleet {
  readonly license = new SharedLicense(() => this.#callIn(0))
  readonly #settings: FleetSettings
  readonly #leaseMs: number
  readonly #random: () => number
  readonly #register: Register
  readonly #id = crypto.randomUUID()
  #timer: NodeJS.Timeout | undefined
  #checkTimer: NodeJS.Timeout | undefined
  /** Counts starts and closes, so that a call that began in one run has no effect in the next run. */
  #run = 0
  #isOpen = false
  #isCalling = false
  /** True if another call became necessary during a call, for a reason that is missing from its report. */
  #isAskedAgain = false
  #startedMs = 0
  /** Time of the first answer of Redis; `Infinity` until then. */
  #firstSharedMs = Number.POSITIVE_INFINITY
  /** True while failures are those of a client that is still connecting. */
  #isConnecting = false
  #stopConnecting: (() => void) | undefined
  #requestsAtStart = 0
  /** Number of requests as last seen, the time of the last one, and of the last one before that. */
  #requests = 0
  #requestedMs = 0
  #requestedBeforeMs = 0
  #calledMs = Number.NEGATIVE_INFINITY
  /** True if events were waiting when Redis was last asked. */
  #wasWaiting = false
  /** True if Redis is being asked before the lease ends, because events started to wait. */
  #isEarly = false
  /** Time before which Redis is not asked early again; monotonic, in milliseconds. */
  #notEarlyBeforeMs = 0
  #lastRenewInMs = 0
  #failures = 0
  /** Number of calls that the client has neither answered nor rejected. */
  #openCalls = 0
  /** The last answer of Redis; `undefined` until the first answer. */
  #share: Share | undefined
  /** Time at which Redis was asked for that answer. */
  #sharedMs = Number.NEGATIVE_INFINITY
  /**
   * True if this process reported so few requests that it was given next to no slots, but asks Redis for each request.
   * While it cannot ask, it goes by the answers of the service.
   */
  #isRare = false
  /** True if this process also uses arcs of no process, because Redis is away. */
  #usesSpare = false
  #lease: Lease | undefined
  #leasedLimit: number | undefined
  /** What this process held before that answer. */
  #before = nothingHeld
  /** Time of the one request besides the slots, by our clock. */
  #guestMs = Number.NEGATIVE_INFINITY
  /** Lead of the Redis clock over our clock, in milliseconds. */
  #aheadMs = 0
  /** The least and the greatest value that the lead can have, and the time of the last measurement, in milliseconds. */
  #bounds = { minMs: Number.NEGATIVE_INFINITY, maxMs: Number.POSITIVE_INFINITY, atMs: 0 }

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
    this.#requestsAtStart = this.#requests = this.#settings.requests()
    this.#requestedMs = this.#requestedBeforeMs = this.#startedMs
    this.#firstSharedMs = Number.POSITIVE_INFINITY
    this.#isConnecting = true
    const maxMs = maxWaits * this.#maxAnswerMs
    this.#stopConnecting = ownDeadline(connectMs, maxMs, () => {
      this.#isConnecting = false
    })
    this.#setLease(oneAt(this.#startedMs + maxMs))
    this.#checkTimer = setInterval(() => this.#checkLease(), this.#leaseMs / 10).unref()
    // Not at once: the first report says whether events wait and whether the license is wanted, which is decided in this turn.
    this.#callIn(0)
  }

  /** Leaves the fleet and returns the slots. The process must not use them any more. */
  async close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#run++
    clearTimeout(this.#timer)
    clearInterval(this.#checkTimer)
    this.#stopConnecting?.()
    this.license.close()
    if (this.#calledMs >= this.#startedMs) await inTime(this.#register.leave(this.#id), leaveMs).catch(() => {})
  }

  /** True if Redis has given no answer that counts, and the process does not wait for one before its requests. */
  get isAway(): boolean {
    return this.#share === undefined && this.#lease === undefined
  }

  /** Applies the slots that follow from the last answer of Redis and from the present limit. */
  apply(): void {
    const share = this.#share
    if (share === undefined || !this.#isOpen) return
    const limit = this.#limitPerSecond
    this.#leasedLimit = limit
    if (limit !== undefined && limit !== Number.POSITIVE_INFINITY) {
      if (this.#isRare && this.#failures > 0) return this.#setLease(undefined)
      const held = { arcs: this.#arcsInUse, stride: share.stride }
      return this.#setLease(new Slots(held, limit, this.#aheadMs, this.#guestMs, this.#before))
    }
    const heldUntilMs = this.#firstSharedMs + licenseMs
    this.#setLease(limit === undefined && monotonicMs() < heldUntilMs ? oneAt(heldUntilMs) : undefined)
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
      const onShare = (share: Share): void => {
        if (run === this.#run && askedMs > this.#sharedMs) this.#onShare(share, askedMs, report)
      }
      // A late answer counts, too: Redis has given other processes the slots that it takes from this one.
      const answer = this.#renew(report).then(share => this.#checked(share))
      const share = await inTime(answer, this.#maxAnswerMs, onShare)
      if (run === this.#run) this.#failures = 0
      onShare(share)
    } catch (error) {
      if (run === this.#run) this.#retry(error)
    } finally {
      this.#isCalling = false
      if (run !== this.#run && this.#isOpen) void this.#call() // closed and started again during the call
    }
  }

  async #renew(report: Report): Promise<Share> {
    this.#openCalls++
    try {
      return await this.#register.renew(this.#id, report)
    } finally {
      this.#openCalls--
    }
  }

  get #maxAnswerMs(): number {
    return this.#share === undefined && this.#failures === 0
      ? Math.min(firstAnswerMs, 0.4 * this.#leaseMs)
      : Math.min(answerMs, this.#leaseMs / 4)
  }

  #report(nowMs: number) {
    const { demand, isWaiting, namedHeaderLimit, rarePerSecond, requests } = this.#settings
    const known = this.#limitPerSecond
    const limit = known === Number.POSITIVE_INFINITY ? 0 : known // such a limit is not shared
    const hasRequested = requests() !== this.#requestsAtStart
    const isNew = nowMs - this.#startedMs < 2 * this.#leaseMs && !hasRequested
    const isSurprised = !this.#wasWaiting || isNew
    const named = namedHeaderLimit(nowMs)
    const { needed, wanted } = limit === 0 ? { needed: 0, wanted: 0 } : demand(nowMs)
    const hasToWait = isWaiting() && !this.#hasSlotWithin(soonPart * this.#leaseMs, nowMs)
    const isRare = limit !== undefined && limit > 0 && wanted <= rarePerSecond
    const isGuest = hasToWait && (isRare || isSurprised || this.#turns > 1) && this.#guestMs < nowMs
    this.#wasWaiting = isWaiting()
    return {
      neededPerSecond: needed,
      wantedPerSecond: wanted,
      arcs: this.#arcsToClaim,
      turns: this.#turns,
      bornMs: this.#share?.bornMs ?? 0,
      limitPerSecond: limit,
      headerLimit: named?.perSecond,
      headerAgeMs: named?.ageMs ?? 0,
      isGuest,
      isRare,
      rarePerSecond,
      wantsMore: isWaiting() && this.#guestMs < nowMs,
      isUrgent: isWaiting() && (!hasRequested || this.#hasMissedTurn(nowMs)),
    }
  }

  #onShare(
    share: Share,
    askedMs: number,
    report: { readonly license: string | undefined; readonly isRare: boolean },
  ): void {
    const nowMs = monotonicMs()
    const isSameCircle = this.#share?.stride === share.stride
    this.#measureAhead(share.nowMs, askedMs, nowMs)
    const { untilMs: fromMs } = this.#before
    const untilMs = Math.max(nowMs, share.sinceMs - this.#aheadMs)
    this.#before = { arcs: isSameCircle ? this.#arcsInUse : [], fromMs, untilMs }
    this.#share = share
    this.#firstSharedMs = Math.min(this.#firstSharedMs, nowMs)
    this.#usesSpare = false
    this.#isRare = report.isRare
    this.#sharedMs = askedMs
    if (share.guestMs !== undefined) this.#guestMs = share.guestMs - this.#aheadMs
    this.#callIn(this.#isAskedAgain ? 0 : this.#renewInMs(share, nowMs))
    this.license.onShare(share, report)
    if (share.license !== undefined) this.#settings.onLicense?.()
    this.apply()
    // Where each has its turn, events start to wait after each one.
    const isInVain = share.turns > 1 && !this.#hasSlotWithin(soonPart * this.#leaseMs, nowMs)
    if (this.#isEarly && isInVain) this.#notEarlyBeforeMs = nowMs + earlyInVainLeases * this.#leaseMs
    this.#isEarly = false
  }

  /** @throws Error if the slots are so far apart that the answer must be wrong: delivery would stop */
  #checked(share: Share): Share {
    const { arcs, guestMs, turns } = share
    const limit = this.#limitPerSecond ?? Number.POSITIVE_INFINITY
    const part = partOf(arcs)
    if (part === 0 || guestMs !== undefined || part * limit >= minSharePerSecond) return share
    if (turns > 1 && part * turns >= 1) return share // so many processes share a low limit
    throw new Error('its answer has no valid share: expected at least one request in ten minutes')
  }

  /** Randomizes the delay until the next call. Processes that started together spread out when the delay grows. */
  #renewInMs({ renewInMs, licenseVersion }: Share, nowMs: number): number {
    const isStored = licenseVersion !== '0' // the license, which this process is about to apply
    const isHolding = this.#limitPerSecond === undefined && !isStored && nowMs < this.#firstSharedMs + licenseMs
    const nextMs = isHolding ? Math.min(whileHoldingMs, renewInMs) : renewInMs
    const [min, max] = nextMs > this.#lastRenewInMs ? [0.2, 1] : [0.8, 1.2]
    this.#lastRenewInMs = nextMs
    return nextMs * (min + (max - min) * this.#random())
  }

  /**
   * Narrows the bounds of the lead: Redis answered between the call and now. The clocks drift apart, which widens the bounds. They
   * are wrong if the new ones contradict them: the clock of Redis was set, another server took over, or this machine slept.
   *
   * Within the bounds, the machine's time decides. Most machines have the right time, and an answer tells little if it comes late:
   * if many processes start at once, their event loops are blocked for a second.
   */
  #measureAhead(redisMs: number, askedMs: number, nowMs: number): void {
    const own = { minMs: redisMs - nowMs, maxMs: redisMs + redisStepMs - askedMs }
    const driftMs = (nowMs - this.#bounds.atMs) * drift
    let minMs = Math.max(own.minMs, this.#bounds.minMs - driftMs)
    let maxMs = Math.min(own.maxMs, this.#bounds.maxMs + driftMs)
    if (minMs > maxMs + redisStepMs) ({ minMs, maxMs } = own)
    this.#bounds = { minMs, maxMs, atMs: nowMs }
    this.#aheadMs = Math.min(Math.max(systemTimeMs() - nowMs, minMs), maxMs)
  }

  /**
   * The lowest known limit, in requests per second: `Infinity` if nothing limits the rate to what can be shared.
   * `undefined` while the license is unknown and no headers name a limit.
   */
  get #limitPerSecond(): number | undefined {
    const { limitPerSecond } = this.#settings
    const limit = Math.min(
      limitPerSecond() ?? Number.POSITIVE_INFINITY,
      this.#ownHeaderLimit ?? Number.POSITIVE_INFINITY,
      this.#share?.headerLimit ?? Number.POSITIVE_INFINITY,
    )
    if (limit <= maxSharedPerSecond) return limit
    return limitPerSecond() === undefined && limit === Number.POSITIVE_INFINITY ? undefined : Number.POSITIVE_INFINITY
  }

  /**
   * The limit that answers to this process name, in requests per second. If none has named it lately, others may have heard of a
   * higher one. Under a low limit, the next answer to this process may be many minutes away.
   */
  get #ownHeaderLimit(): number | undefined {
    const { headerLimit, namedHeaderLimit } = this.#settings
    const limit = headerLimit()
    if (limit === undefined || this.#share === undefined || this.#failures > 0) return limit
    if (namedHeaderLimit(monotonicMs()) !== undefined) return limit
    const isSoonNamed = partOf(this.#share.arcs) * limit >= minAnswersPerSecond
    return this.#share.headerLimit === undefined && isSoonNamed ? limit : undefined
  }

  #setLease(lease: Lease | undefined): void {
    if (lease === undefined && this.#lease === undefined) return
    this.#lease = lease
    this.#settings.onLease(lease)
  }

  /**
   * True if the last request was refused, or none was made at its turn: the next turn may be a whole round away. Not true
   * any more after `withinMs`.
   */
  #hasMissedTurn(nowMs: number, withinMs = Number.POSITIVE_INFINITY): boolean {
    if (this.#turns === 1) return false
    const roundMs = 1000 / (this.#lease?.perSecond ?? Number.POSITIVE_INFINITY)
    const missedMs = nowMs - this.#requestedMs - roundMs - 0.04 * this.#leaseMs
    return missedMs > 0 && missedMs < withinMs
  }

  #hasSlotWithin(ms: number, nowMs: number): boolean {
    return this.#share !== undefined && this.#lease !== undefined && this.#lease.nextMs(nowMs) <= nowMs + ms
  }

  /** A request that is under way counts, until it is refused. */
  #noteRequests(nowMs: number): void {
    const requests = this.#settings.requests()
    if (requests > this.#requests) {
      this.#requestedBeforeMs = this.#requestedMs
      this.#requestedMs = nowMs
    } else if (requests < this.#requests) this.#requestedMs = this.#requestedBeforeMs
    this.#requests = requests
  }

  /**
   * Runs periodically. Applies a changed limit, and asks Redis early if this process needs more than its lease allows.
   */
  #checkLease(): void {
    const nowMs = monotonicMs()
    this.#noteRequests(nowMs)
    const isUnknown = this.#leasedLimit === undefined && this.#lease !== undefined
    if (this.#limitPerSecond !== this.#leasedLimit || isUnknown) this.apply()
    const isWaiting = this.#settings.isWaiting()
    if (!isWaiting) this.#wasWaiting = false
    // A process that was refused its only request still waits, and needs another one. So does one that missed its turn; but if
    // the service refuses all requests, many have.
    const hasMissedTurn = this.#hasMissedTurn(nowMs, this.#leaseMs)
    const askAgainPart = !this.#wasWaiting ? 0.1 : this.#isRare || hasMissedTurn ? 0.2 : Number.POSITIVE_INFINITY
    const mayAsk = this.#lease !== undefined && this.#failures === 0
    if (!isWaiting || !mayAsk || nowMs - this.#calledMs < askAgainPart * this.#leaseMs) return
    if (nowMs < this.#notEarlyBeforeMs && !hasMissedTurn) return
    if (nowMs < this.#guestMs || this.#hasSlotWithin(soonPart * this.#leaseMs, nowMs)) return
    this.#isEarly = true
    this.#callIn(0)
  }

  #retry(error: unknown): void {
    // A client that is still connecting may reject its first calls. Each process that gave up would read the license.
    const isStarting = this.#share === undefined && this.#isConnecting && !(error instanceof NoAnswer)
    if (isStarting) return this.#callIn(firstRetryMs * (0.5 + this.#random() / 2))
    // Without a slot of its own, the process would not send until Redis is back.
    if (this.#share?.arcs.length === 0) this.#share = undefined
    if (this.#share === undefined || this.#isRare) this.#setLease(undefined)
    this.#useSpare(monotonicMs())
    this.license.onUnreachable()
    const delayMs =
      Math.min(firstRetryMs * 2 ** this.#failures, maxRetryMs) * Math.max(this.#openCalls - maxOpenCalls, 1)
    this.#callIn(delayMs * (0.5 + this.#random() / 2))
    if (this.#failures++ === 0) {
      const meanwhile =
        this.#lease === undefined
          ? 'adapts its request rate to the answers of the service'
          : 'keeps its last share of the request rate'
      const reason = toShortLine(saidBy(error), this.#settings.redact) || 'no reason given'
      this.#settings.onTrouble(
        `the Redis of limits.fleet cannot be used (${reason}). Until it can, this process ${meanwhile}. Check Redis and its client.`,
      )
    }
  }

  get #turns(): number {
    return this.#share?.turns ?? 1
  }

  get #arcsInUse(): readonly Arc[] {
    const { arcs = [], spareArcs = [] } = this.#share ?? {}
    return this.#usesSpare ? [...arcs, ...spareArcs] : arcs
  }

  /** Without turns, no other process has the same spare arcs, so that they are claimed whether they are in use or not. */
  get #arcsToClaim(): readonly Arc[] {
    const { arcs = [], spareArcs = [] } = this.#share ?? {}
    return this.#turns === 1 ? [...arcs, ...spareArcs] : this.#arcsInUse
  }

  /** Uses the arcs of no process from now on: no process can ask Redis for them. */
  #useSpare(nowMs: number): void {
    const { arcs = [], spareArcs = [] } = this.#share ?? {}
    if (this.#usesSpare || spareArcs.length === 0) return
    // Where processes have turns, others use free places until all have lost touch with Redis.
    if (this.#turns > 1 && nowMs - this.#sharedMs < spareAfterLeases * this.#leaseMs) return
    this.#usesSpare = true
    this.#before = { arcs, fromMs: this.#before.fromMs, untilMs: nowMs }
    this.apply()
  }

  #callIn(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#isOpen) this.#timer = setTimeout(() => void this.#call(), ms).unref()
  }
}

/**
 * Waits for an answer of Redis, for `ms` milliseconds by an `ownDeadline` at most.
 *
 * @param onLate called with an answer that comes after that
 */
async function inTime<T>(answer: Promise<T>, ms: number, onLate: (answer: T) => void = () => {}): Promise<T> {
  const maxMs = maxWaits * ms
  const endEarly = (end: () => void) => ownDeadline(ms, maxMs, end)
  if (await settlesWithin(answer, maxMs, { keepsAlive: false, endEarly })) return answer
  answer.then(onLate, () => {})
  throw new NoAnswer(`no answer within ${milliseconds(ms)}`)
}

class NoAnswer extends Error {}

/** Returns the text of a rejection. Never throws: a client may reject with anything, such as an object without methods. */
function saidBy(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return ''
  }
}
