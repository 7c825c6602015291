import { Batcher } from '../batch/batcher.ts'
import { Fate } from '../batch/fate.ts'
import { type DropReason, type DropsBySeverity, Ledger } from '../batch/ledger.ts'
import { Memory } from '../batch/memory.ts'
import type { BatchLimits } from '../batch/row.ts'
import { Breaker } from '../delivery/breaker.ts'
import { Compression, type Encoding } from '../delivery/compression.ts'
import { Delivery } from '../delivery/delivery.ts'
import { Pace } from '../delivery/pace.ts'
import { Sender } from '../delivery/send.ts'
import type { Courier } from '../exit/courier.ts'
import { type Loss, outOfTime } from '../exit/last-delivery.ts'
import { expectEnd, type Unfinished, unwatch, watch } from '../exit/process-end.ts'
import { type NoticeListeners, Notices } from '../notices.ts'
import { ownProperties } from '../options/own-properties.ts'
import { resolveOptions } from '../options/resolve.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { ShipperOptions } from '../options/shipper-options.ts'
import type { ResolvedSpool } from '../options/spool-options.ts'
import type { LimitsStats } from '../org/limits.ts'
import { eventToLine } from '../record/event-to-line.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import { tailFields } from '../record/resource-tail.ts'
import { type Severity, severities, severityOfLevel } from '../record/severity.ts'
import { Timestamper } from '../record/timestamp.ts'
import { checkListener } from './check-listener.ts'
import { datasetOf } from './dataset-of.ts'
import { Holding } from './holding.ts'
import { checkedTimeoutMs, isInTime } from './in-time.ts'
import { type Licence, openLicence } from './licence.ts'
import { ShedReport } from './shed-report.ts'
import { Spooling, type SpoolStats } from './spooling.ts'

export { type FlushOnSignalsOptions, flushOnSignals } from '../exit/flush-on-signals.ts'

/** What is known when `flush()` or `close()` ends. */
export interface FlushResult {
  /** Whether every event accepted before the call has been delivered or dropped. */
  readonly complete: boolean
  /** Events that are neither delivered nor dropped. */
  readonly pending: number
}

/** A snapshot of what a shipper has done. At every moment accepted = delivered + dropped + pending. */
export interface ShipperStats {
  readonly accepted: number
  readonly delivered: number
  readonly dropped: number
  readonly pending: number
  /** Dropped events by reason, then by severity. */
  readonly drops: Partial<Record<DropReason, DropsBySeverity>>
  /** Events with a value that JSON cannot take, replaced by a text that says so. */
  readonly stubbed: number
  /** Events cut to `maxEventBytes`. */
  readonly cut: number
  /** Requests made, and how many of them sent events again. */
  readonly requests: number
  readonly retries: number
  readonly requestsInFlight: number
  /** Bytes of request bodies, as sent. */
  readonly bytesOnWire: number
  /** Memory held for events that are pending, in bytes; never more than `maxBufferedBytes`. */
  readonly bufferedBytes: number
  /** The compression in use, after what the service turned out not to take. */
  readonly compression: Encoding
  /** Most requests per second that may be made now; `Infinity` when nothing limits them. */
  readonly requestsPerSecond: number
  /**
   * Size and age of batches in force: larger than configured while the request rate is limited, larger than the default
   * under a heavy load, or what the service takes.
   */
  readonly maxBatchBytes: number
  readonly maxBatchAgeMs: number
  /** What of the licence is in force, and why; `undefined` without the option `limits`. */
  readonly limits: LimitsStats | undefined
  /** What there is on disk; `undefined` without the option `spool`. */
  readonly spool: SpoolStats | undefined
}

/** Bytes of the largest batch that is made for a limited request rate. */
const mostTunedBatchBytes = 16_777_216
/** Batches are never made smaller than this for the sake of memory and disk. */
const leastBatchBytes = 1024
/** Longest wait for connections to close that nothing more is expected of, in milliseconds. */
const closeConnectionsMs = 1000

/**
 * Ships events: record → line → batch → request → outcome. Made by `createShipper`; can be shared by any number of
 * loggers. Nothing it does throws into code that logs.
 */
export class Shipper {
  readonly #options: ResolvedOptions
  readonly #timestamper: Timestamper
  readonly #memory: Memory
  readonly #batcher: Batcher
  readonly #sender: Sender
  readonly #breaker: Breaker
  readonly #delivery: Delivery
  /** @internal */
  readonly holding: Holding
  readonly #compression: Compression
  readonly #ledger = new Ledger()
  readonly #notices = new Notices(text => this.#redact(text))
  readonly #pace = new Pace()
  readonly #licence: Licence | undefined
  readonly #spooling: Spooling | undefined
  readonly #altered: Alterations = { stubbed: 0, cut: 0 }
  readonly #unfinished: Unfinished
  #isWatched = false
  readonly #shed = new ShedReport()
  #fate: Fate | undefined

  /** @internal */
  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#timestamper = new Timestamper(options.timeField)
    const limits = batchLimits(options)
    this.#memory = new Memory(options.maxBufferedBytes, limits.maxBatchBytes)
    this.#compression = new Compression(options.compression)
    this.#sender = new Sender(options, this.#compression, this.#notices.redact)
    this.#breaker = new Breaker(options.maxRetryDelayMs)
    this.#spooling = options.spool && this.#openSpooling(options.spool, options.durability)
    this.#batcher = new Batcher(
      limits,
      this.#memory,
      {
        onReady: () => this.#delivery.pump(),
        onLost: (count, dataset) => this.#spooling?.onLost(count, dataset),
      },
      this.#spooling?.spool,
    )
    this.holding = new Holding({
      memory: this.#memory,
      ledger: this.#ledger,
      batcher: this.#batcher,
      onHeld: () => {
        if (!this.#isWatched) this.#watch()
      },
      onRemoved: () => this.#unwatchWhenDone(),
    })
    this.#delivery = new Delivery({
      batches: this.#batcher,
      send: (batch, signal) => this.#sender.send(batch, signal),
      breaker: this.#breaker,
      pace: this.#pace,
      compression: this.#compression,
      ledger: this.#ledger,
      notices: this.#notices,
      maxConcurrentRequests: options.maxConcurrentRequests,
      timeField: options.timeField,
      onSettled: () => this.#onSettled(),
      onAnswer: headers => this.#licence?.limits.onAnswer(headers),
      onDelivered: dataset => this.#reportShed(dataset),
    })
    this.#licence =
      options.limits &&
      openLicence(options, options.limits, this.#pace, this.#notices, this.#altered, this.#delivery.pump)
    this.#licence?.start()
    this.#unfinished = {
      exitTimeoutMs: options.exitTimeoutMs,
      finish: () => this.#finishAtExit(),
      handOver: courier => this.#handOver(courier),
      withdrawWhenDone: () => this.#unwatchWhenDone(),
      proceed: () => this.#proceed(),
      isWaitingForAnswers: () => this.#delivery.inFlight > 0,
      giveUp: loss => this.#giveUp(loss, 'exit'),
      takeBack: () => this.#takeBack(),
    }
    if (options.exitTimeoutMs > 0) expectEnd()
    const { onRejected } = options
    if (onRejected !== undefined) this.#notices.add('rejected', ({ event, reason }) => onRejected(event, reason))
    if (this.#spooling !== undefined) {
      this.#watch() // a process that ends at once delivers what others have left all the same
      void this.#spooling.inherit().then(() => this.#unwatchWhenDone())
    }
  }

  /**
   * Takes an event for delivery. It is serialised at once: what happens to the object afterwards does not matter. An
   * event without a time stamp gets one; its `level` decides what is shed first when memory is short.
   *
   * Never throws. Returns false when the event had to be dropped (it is then counted and reported).
   */
  ship(event: Readonly<Record<string, unknown>>): boolean {
    return this.take(event, levelOf(event), Date.now()) === undefined
  }

  /**
   * Sends what is waiting without further delay, and waits until all that was accepted before the call has been delivered
   * or dropped, or the time is up. What is left then is still pending and goes on being delivered.
   *
   * @param options.timeoutMs longest wait in milliseconds, `flushTimeoutMs` by default
   * @returns never rejects for delivery trouble
   * @throws TypeError | RangeError when `timeoutMs` is not a number from 0 to 2 147 483 647
   */
  async flush(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    const leftBefore = this.#ledger.left
    const isDone = await isInTime(this.#flushAll(), timeoutMs)
    // What `close` has left to the next process meanwhile is neither delivered nor dropped.
    return { complete: isDone && this.#ledger.left <= leftBefore, pending: this.#ledger.pending }
  }

  /**
   * Delivers what is pending, drops (counts, reports) what cannot be delivered in time, or leaves it in the spool for the
   * next process, and lets go of connections. An event shipped later is not lost: it opens a connection again.
   *
   * @param options.timeoutMs longest wait in milliseconds, `flushTimeoutMs` by default
   * @returns never rejects for delivery trouble
   * @throws TypeError | RangeError when `timeoutMs` is not a number from 0 to 2 147 483 647
   */
  async close(options: { timeoutMs?: number | undefined } = {}): Promise<FlushResult> {
    const timeoutMs = checkedTimeoutMs(ownProperties(options).timeoutMs, this.#options.flushTimeoutMs)
    const complete = await this.#finish(timeoutMs)
    await isInTime(Promise.all([this.#sender.close(), this.#licence?.close()]), closeConnectionsMs)
    this.#spooling?.close()
    this.#memory.clear()
    return { complete, pending: this.#ledger.pending }
  }

  /** What has been done so far. */
  stats(): ShipperStats {
    return {
      accepted: this.#ledger.accepted,
      delivered: this.#ledger.delivered,
      dropped: this.#ledger.dropped,
      pending: this.#ledger.pending,
      drops: this.#ledger.drops(),
      stubbed: this.#altered.stubbed,
      cut: this.#altered.cut,
      requests: this.#delivery.requests,
      retries: this.#delivery.retries,
      requestsInFlight: this.#delivery.inFlight,
      bytesOnWire: this.#delivery.bytesOnWire,
      bufferedBytes: this.#memory.usedBytes,
      compression: this.#compression.encoding,
      requestsPerSecond: this.#pace.inForce.requestsPerSecond,
      maxBatchBytes: this.#delivery.maxBatchBytes,
      maxBatchAgeMs: this.#batcher.limits.maxBatchAgeMs,
      limits: this.#licence?.limits.stats(this.#pace.inForce),
      spool: this.#spooling?.stats(),
    }
  }

  /**
   * Calls `listener` when something happens: `warning` (in place of Node's process warnings), `dropped`, `rejected`
   * (with the event that the service refused), `delivered`. A listener that throws does no harm.
   *
   * @throws TypeError with `code` `LOGFERRY_INVALID_OPTION` for any other event, or where `listener` is no function
   */
  on<Name extends keyof NoticeListeners>(event: Name, listener: NoticeListeners[Name]): this {
    checkListener(event, listener)
    this.#notices.add(event, listener)
    return this
  }

  /**
   * Calls `listener` no longer.
   *
   * @throws TypeError as `on` does
   */
  off<Name extends keyof NoticeListeners>(event: Name, listener: NoticeListeners[Name]): this {
    checkListener(event, listener)
    this.#notices.remove(event, listener)
    return this
  }

  /**
   * Where what it has in the spool is for; `undefined` without one.
   *
   * @internal
   */
  get destination(): string | undefined {
    return this.#options.spool?.destination
  }

  /** @internal */
  get maxEventBytes(): number {
    return this.#options.maxEventBytes
  }

  /** @internal */
  get flushTimeoutMs(): number {
    return this.#options.flushTimeoutMs
  }

  /**
   * The last answer of the service that asked for another attempt.
   *
   * @internal
   */
  get lastTrouble(): string | undefined {
    return this.#delivery.lastTrouble
  }

  /**
   * The one way in. The event's own time stamp goes before `time`: milliseconds since the epoch, or seconds and
   * nanoseconds.
   *
   * @param tail bytes to stand in place of the closing brace of the event's JSON
   * @param written what `JSON.stringify` would make of an event of plain data, where somebody has done that already
   * @returns why the event had to be dropped; `undefined` when it was kept
   * @internal
   */
  take(
    event: object,
    severity: Severity,
    time: number | readonly [number, number],
    tail?: Uint8Array,
    written?: string,
  ): DropReason | undefined {
    this.#ledger.accepted++
    if (severity < this.#memory.floor && !this.#hasRoomFor(severity)) return this.#drop('memory', severity)
    try {
      const dataset = this.#datasetOf(event, tail)
      if (dataset === undefined) return this.#drop('dataset', severity)
      let fitted: object | undefined = event
      if (this.#licence !== undefined) {
        fitted = this.#fit(dataset, event, severity, tail)
        if (fitted === undefined) return this.#drop('budget', severity)
      }
      // A function that names the dataset has had the event in its hands.
      const json = fitted === event && typeof this.#options.dataset === 'string' ? written : undefined
      if (!this.#write(dataset, fitted, severity, time, tail, json)) return this.#drop('memory', severity)
    } catch (error) {
      // What people log cannot bring us here; running out of memory can, and a mistake of ours.
      return this.#drop('error', severity, error)
    }
    if (!this.#isWatched) this.#watch()
    return undefined
  }

  /**
   * Sends the events that `give` has taken without further delay, and waits until the service has answered for them, but
   * for `flushTimeoutMs` at most.
   *
   * @internal
   */
  async fateOf(give: () => void): Promise<Fate> {
    const fate = new Fate()
    this.#fate = fate
    try {
      give()
    } finally {
      this.#fate = undefined
    }
    void this.#batcher.flush()
    await isInTime(fate.whenSettled(), this.#options.flushTimeoutMs)
    return fate
  }

  #write(
    dataset: string,
    event: object,
    severity: Severity,
    time: number | readonly [number, number],
    tail: Uint8Array | undefined,
    written?: string,
  ): boolean {
    const head = this.#hasOwnTime(event)
      ? undefined
      : typeof time === 'number'
        ? this.#timestamper.at(time)
        : this.#timestamper.atHrTime(time)
    const { maxEventBytes } = this.#options
    // A resource must not crowd out the event itself.
    const isTailTooLong = tail !== undefined && tail.length > maxEventBytes / 4
    if (isTailTooLong) this.#altered.cut++
    const kept = isTailTooLong ? undefined : tail
    const line = eventToLine(event, head, kept, maxEventBytes - 1, this.#altered, written)
    if (!this.#batcher.add(dataset, severity, line, this.#fate)) return false
    this.#licence?.limits.count(severity, line.length)
    return true
  }

  #hasRoomFor(severity: Severity): boolean {
    this.#batcher.makeRoom()
    return severity >= this.#memory.floor
  }

  /** The event as the licence lets it be shipped; `undefined` when it is sampled away. */
  #fit(dataset: string, event: object, severity: Severity, tail: Uint8Array | undefined): object | undefined {
    this.#licence?.start() // after close()
    return this.#licence?.limits.fit(dataset, event, severity, tail && tailFields(tail))
  }

  /** Takes out every secret of ours that a text from outside may repeat. */
  #redact(text: string): string {
    const withoutToken = this.#options.credentials.redact(text)
    return this.#licence?.redact(withoutToken) ?? withoutToken
  }

  #hasOwnTime(event: object): boolean {
    try {
      return (event as Record<string, unknown>)[this.#options.timeField] !== undefined
    } catch {
      return true // a getter that throws: the safe way writes a stub for it, and a second field of that name would be wrong
    }
  }

  #datasetOf(event: object, tail: Uint8Array | undefined): string | undefined {
    const { dataset } = this.#options
    if (typeof dataset === 'string') return dataset
    const answer = datasetOf(dataset, event, tail)
    if ('name' in answer) return answer.name
    this.#notices.warn('LOGFERRY_DROPPED', `the \`dataset\` function ${answer.problem}; the event is dropped.`)
    return undefined
  }

  #drop(reason: DropReason, severity: Severity, error?: unknown): DropReason {
    const bySeverity = { [severities[severity]]: 1 }
    this.#ledger.drop(reason, bySeverity)
    if (this.#notices.has('dropped')) this.#notices.tell('dropped', { reason, count: 1, bySeverity })
    if (reason === 'memory') this.#noteShed(severity)
    if (reason === 'error') {
      const what = error instanceof Error ? `${error.name}: ${error.message}` : typeof error
      this.#notices.warn('LOGFERRY_DROPPED', `an event could not be kept (${what}); it is dropped.`)
    }
    return reason
  }

  #noteShed(severity: Severity): void {
    const { usedBytes, maxBytes } = this.#memory
    this.#shed.note(severity)
    this.#notices.warn(
      'LOGFERRY_DROPPED',
      `memory for events that are not delivered yet is short (${usedBytes} of ${maxBytes} bytes), and events are dropped, ` +
        'low severities first. Find out why delivery is slow, or raise maxBufferedBytes.',
    )
  }

  #reportShed(dataset: string): void {
    const event = this.#memory.floor === 0 ? this.#shed.take(performance.now()) : undefined
    if (event === undefined) return
    this.#ledger.accepted++
    const severity = severityOfLevel('warn')
    if (!this.#write(dataset, event, severity, Date.now(), undefined)) this.#drop('memory', severity)
  }

  /** Lets everything go that is here; what other processes have left in the spool is here only once it is taken over. */
  async #flushAll(): Promise<void> {
    const inherited = this.#spooling?.inherit()
    await this.#flushAtHand()
    for (let hasMore = await inherited; hasMore; hasMore = await this.#spooling?.inherit()) await this.#batcher.flush()
    if (inherited !== undefined) await this.#batcher.flush()
  }

  async #flushAtHand(): Promise<void> {
    const released = this.holding.release()
    const flushed = this.#batcher.flush()
    if (released === undefined) return flushed
    await released
    await Promise.all([flushed, this.#batcher.flush()])
  }

  /** Delivers what is pending, with no regard for waits after failures; drops what is left when the time is up. */
  async #finish(timeoutMs: number): Promise<boolean> {
    const flushed = this.#flushAll()
    this.#delivery.hurry(timeoutMs)
    const complete = await isInTime(flushed, timeoutMs)
    if (!complete) this.#giveUp(outOfTime(timeoutMs))
    return complete
  }

  #giveUp({ how, remedy }: Loss, about?: string): void {
    this.holding.giveAll()
    const { pending, left, dropped } = this.#ledger
    if (pending === left) return
    this.#delivery.abandon('closed', batch => this.#spooling?.leave(batch) ?? false)
    this.#unwatchWhenDone()
    const [kept, lost] = [this.#ledger.left - left, this.#ledger.dropped - dropped]
    if (kept > 0)
      this.#notices.warn('LOGFERRY_SPOOL', `${events(kept)} could not be delivered ${how}; ${inSpool}`, about)
    if (lost === 0) return
    const message = `${events(lost)} could not be delivered ${how}, and had to be dropped. ${remedy}`
    this.#notices.warn('LOGFERRY_DROPPED', message, about)
  }

  #handOver(courier: Courier): void {
    this.#breaker.isUrgent = true
    this.#delivery.sendBy((batch, onAttempt) => this.#sender.sendBy(courier, batch, onAttempt))
    this.#batcher.standStill(true)
    void this.#flushAtHand()
    this.#delivery.hurry(this.#options.exitTimeoutMs)
  }

  #takeBack(): void {
    this.#breaker.isUrgent = false
    this.#batcher.standStill(false)
    this.#delivery.sendBy(undefined)
    this.#spooling?.tellNews()
  }

  #proceed(): number {
    if (this.#delivery.inFlight === 0) void this.#flushAtHand() // for what listeners have logged since
    return this.#delivery.wake()
  }

  async #finishAtExit(): Promise<void> {
    this.#breaker.isUrgent = true
    await this.#finish(this.#options.exitTimeoutMs)
    this.#breaker.isUrgent = false
    this.#spooling?.close()
  }

  #openSpooling(spool: ResolvedSpool, durability: 'memory' | 'disk'): Spooling {
    return new Spooling(spool, durability, {
      ledger: this.#ledger,
      notices: this.#notices,
      memory: this.#memory,
      batcher: () => this.#batcher,
      onInherited: () => this.#watch(),
    })
  }

  #watch(): void {
    this.#spooling?.resume()
    if (this.#options.exitTimeoutMs === 0) return
    this.#isWatched = true
    watch(this.#unfinished)
  }

  #onSettled(): void {
    this.holding.resume()
    this.#unwatchWhenDone()
  }

  #unwatchWhenDone(): void {
    if (!this.#isWatched || this.#ledger.pending > this.#ledger.left) return
    this.#isWatched = false
    unwatch(this.#unfinished)
  }
}

const inSpool =
  'they are in the spool, and will be delivered by the next process that uses it, or by `logferry spool send`.'

function events(count: number): string {
  return count === 1 ? '1 event' : `${count} events`
}

function batchLimits(options: ResolvedOptions): BatchLimits {
  const { maxBatchEvents, maxBatchAgeMs, maxBufferedBytes, maxBatchBytes, spool } = options
  const within = spool === undefined ? Number.POSITIVE_INFINITY : mostSpooledBytes(options, spool)
  // Of an eighth of the memory each, four batches can be in flight while four are being filled or wait.
  const mostTunedBytes = Math.min(mostTunedBatchBytes, Math.floor(maxBufferedBytes / 8))
  return {
    maxBatchBytes: Math.min(maxBatchBytes, within),
    maxBatchAgeMs,
    mostBatchBytes: Math.min(Math.max(maxBatchBytes, mostTunedBytes), within),
    mostUnlimitedBytes: options.mostUnlimitedBatchBytes,
    maxBlockBytes: maxBatchBytes,
    maxBatchEvents,
    sealedBytes: 0,
  }
}

/**
 * With a spool, what is in flight, and what it is compressed to, never takes more than half of the memory: the rest can
 * always be moved to the disk, of which one batch is a small part.
 */
function mostSpooledBytes({ maxBufferedBytes, maxConcurrentRequests }: ResolvedOptions, spool: ResolvedSpool): number {
  const mostInFlightBytes = maxBufferedBytes / (4 * maxConcurrentRequests)
  return Math.max(Math.floor(Math.min(mostInFlightBytes, spool.maxBytes / 8)), leastBatchBytes)
}

function levelOf(event: Readonly<Record<string, unknown>>): Severity {
  try {
    return severityOfLevel(event.level)
  } catch {
    return severityOfLevel(undefined)
  }
}

/** Makes a shipper, to be given to transports and exporters as `{ shipper }`, or to be used by itself. */
export function createShipper(options?: ShipperOptions): Shipper {
  return new Shipper(resolveOptions(options, process.env))
}
