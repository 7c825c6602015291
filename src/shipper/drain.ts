import type { Diagnostics } from '../accounting/diagnostics.ts'
import type { Ledger } from '../accounting/ledger.ts'
import type { Batch } from '../batch/batch.ts'
import type { PieceOrigin } from '../batch/refusals.ts'
import { pacedFor } from '../delivery/warnings.ts'
import { type LossWords, outOfTime } from '../exit/drain-at-exit.ts'
import { ownProperties } from '../own-properties.ts'
import { monotonicMs } from '../time.ts'
import { settlesWithin, type TimeLimitOptions } from '../time-limits.ts'
import type { HeldEvents } from './held-events.ts'
import type { TraceHold } from './intake/trace-hold.ts'
import type { Pipeline } from './pipeline.ts'

interface DrainDeps {
  readonly pipeline: Pipeline
  readonly heldEvents: HeldEvents
  /** Events that are delivered only if another event asks for it; `undefined` without the option `hold`. */
  readonly traceHold: TraceHold | undefined
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  /** Reports the events that were dropped in their log calls. */
  readonly reportIntakeDrops: () => void
  /** Called when the remaining events have been handed off or dropped. */
  readonly onEmptied: () => void
}

interface FlushOptions extends TimeLimitOptions {
  readonly onReleased?: () => void
  /**
   * False if the flush is for the events of this process alone. Otherwise it would take back events that `close` has
   * handed off.
   *
   * @defaultValue true
   */
  readonly adoptsOrphans?: boolean
}

interface FinishOptions {
  readonly isRepeated?: boolean
  readonly shipLast?: (() => void) | undefined
  /** Subject of the warnings of events that are given up. Those of another end are reported, too. */
  readonly about: 'close' | 'natural end'
  /** The words for events that are given up, if earlier rounds have used some of the time. */
  readonly loss?: LossWords
}

interface DeliverOptions extends Pick<FinishOptions, 'shipLast'> {
  readonly endsEarly: boolean
}

interface GivenUp {
  readonly kept?: number
  readonly origins?: ReadonlySet<PieceOrigin> | undefined
}

/**
 * Maximum number of batches that are given up in one turn of the event loop, because each may need a new file. Beyond
 * it, the batches that were opened after the time was up stay pending.
 */
const maxBatchesInTurn = 100

/** Empties the core: flushes it, or finishes it in a given time and gives up the rest. */
export class Drain {
  readonly #deps: DrainDeps
  /** Number of calls of `finish` that have not ended. */
  #finishing = 0

  constructor(deps: DrainDeps) {
    this.#deps = deps
  }

  /**
   * Flushes all batches, including batches that this process can adopt from the spool. Resolves to true if they are
   * delivered or dropped within the time. A call whose time is up leaves nothing in memory, however long an outage lasts:
   * it waits for one thing after the other, not for a promise that joins them.
   *
   * @param options.onReleased called once the held events are released; it may ship a last event
   */
  async flushWithin(timeoutMs: number, given: FlushOptions = {}): Promise<boolean> {
    const { onReleased, adoptsOrphans = true, ...options } = ownProperties(given)
    const { spool, batchQueue } = this.#deps.pipeline
    const endMs = monotonicMs() + timeoutMs
    const isDone = (work: Promise<unknown>) => settlesWithin(work, Math.max(endMs - monotonicMs(), 0), options)
    const adopted = adoptsOrphans ? spool?.adoptOrphans() : undefined
    const released = this.#deps.heldEvents.release()
    if (released !== undefined) {
      void batchQueue.flush() // the others need not wait for the held events
      if (!(await isDone(released))) return false
    }
    onReleased?.()
    if (!(await isDone(batchQueue.flush()))) return false
    for (let adopting = adopted; adopting; adopting = (await adopting) ? spool?.adoptMore() : undefined) {
      if (!(await isDone(adopting)) || !(await isDone(batchQueue.flush()))) return false
    }
    return true
  }

  /** Makes the events of this process due now, including held events. */
  sendAtHand(): void {
    const { batchQueue } = this.#deps.pipeline
    const released = this.#deps.heldEvents.release()
    void batchQueue.flush()
    void released?.then(() => batchQueue.flush())
  }

  /**
   * Delivers pending events without waiting after failures. When the time is up, hands the remaining events off or
   * drops them. The last of several calls at a time then releases the spool. Resolves to true if every event was
   * delivered or dropped within the time, and none was handed off meanwhile.
   *
   * @param options.shipLast ships a last event, once the held events are released or the time is up
   * @param options.isRepeated true if the caller calls again for events that are shipped meanwhile
   */
  async finish(timeoutMs: number, given: FinishOptions): Promise<boolean> {
    const { isRepeated = false, shipLast, about, loss = outOfTime(timeoutMs) } = ownProperties(given)
    this.#finishing++
    try {
      const { batchQueue, spool } = this.#deps.pipeline
      const endMs = monotonicMs() + timeoutMs
      // A process that ends by itself need not wait in vain. The caller of `close()` has said how long to wait.
      const endsEarly = about === 'natural end'
      const isComplete = await this.#deliverUntil(endMs, { shipLast, endsEarly })
      this.dropUntriggered()
      this.#deps.reportIntakeDrops()
      // An event that sums up dropped ones is shipped when others have been delivered.
      if (isComplete && !isRepeated) await this.#flushAgain(endMs)
      // Orphans that were adopted during the last flush are not part of it.
      let isEmptied = isComplete
      while (isEmptied && spool?.hasAdopted) isEmptied = await this.#flushAgain(endMs)
      if (!isEmptied) {
        const why = this.#explained(loss)
        this.#releaseHeld()
        const origins = batchQueue.origins()
        const kept = await this.#handOffAll()
        const areMany = batchQueue.batchCount > maxBatchesInTurn
        this.#giveUp(why, about, { kept, origins: areMany ? origins : undefined })
      }
      return isComplete
    } finally {
      // In this turn: until then, orphans may be adopted, and would be neither delivered nor handed off.
      this.#finishing--
      if (this.#finishing === 0) this.#deps.pipeline.delivery.clearDeadline()
      this.releaseSpool()
    }
  }

  /**
   * Delivers pending events without waiting after failures. Resolves to true if every event was delivered or dropped before
   * `endMs`, and none was handed off meanwhile. With `endsEarly`, resolves as soon as the service asks for a longer wait.
   */
  async #deliverUntil(endMs: number, { shipLast, endsEarly }: DeliverOptions): Promise<boolean> {
    const { pipeline, ledger } = this.#deps
    const { handedOff: handedOffBefore } = ledger
    let { handedOffInAll } = ledger
    let hasShippedLast = false
    const shipLastOnce = (): void => {
      if (!hasShippedLast) shipLast?.()
      hasShippedLast = true
    }
    const endEarly = (end: () => void) => pipeline.delivery.endIfInVain(endMs, end)
    const options: FlushOptions = { onReleased: shipLastOnce, ...(endsEarly && { endEarly }) }
    const flush = () => this.flushWithin(Math.max(endMs - monotonicMs(), 0), options)
    this.dropUntriggered()
    pipeline.delivery.skipBackoff(endMs - monotonicMs())
    let isFlushed = await flush()
    while (isFlushed && ledger.handedOffInAll > handedOffInAll) {
      // Another call, which had less time, has handed off events that this call still has time for: it adopts them.
      handedOffInAll = ledger.handedOffInAll
      pipeline.spool?.close()
      isFlushed = await flush()
    }
    shipLastOnce()
    return isFlushed && ledger.handedOff <= handedOffBefore
  }

  /** Flushes the events of later log calls. Resolves to true if these events were delivered or dropped before `endMs`. */
  async #flushAgain(endMs: number): Promise<boolean> {
    const leftMs = endMs - monotonicMs()
    return leftMs > 0 && (await settlesWithin(this.#deps.pipeline.batchQueue.flush(), leftMs))
  }

  /**
   * Releases the spool unless a call of `finish` still needs it. If events were logged meanwhile, the spool goes on to look
   * for orphans, as after any later log call.
   */
  releaseSpool(): void {
    const { pipeline, ledger } = this.#deps
    if (this.#finishing > 0) return
    pipeline.spool?.close()
    if (ledger.pending > ledger.handedOff) pipeline.spool?.resume()
  }

  /** Warns that only the request rate holds events back, if that is so. */
  warnOfPace(): void {
    const { pipeline, diagnostics, ledger } = this.#deps
    const inForce = pipeline.delivery.heldBackBy(monotonicMs())
    const held = this.#deps.traceHold?.count ?? 0
    if (inForce !== undefined) diagnostics.warn(...pacedFor(ledger.pending - held, inForce))
  }

  /** Drops the events that `hold` keeps until their trace logs an error. If the release of a trace has begun, it is completed. */
  dropUntriggered(): void {
    const { traceHold, reportIntakeDrops } = this.#deps
    if (traceHold === undefined) return
    traceHold.passOnReleased()
    const { count } = traceHold
    traceHold.dropAll() // also if there are none: its timer would keep a closed shipper until the time of the events is up
    if (count > 0) reportIntakeDrops()
  }

  /** Gives up every pending event in this turn: hands it off to the spool, or drops it. */
  dropRemaining(loss: LossWords, about: string): void {
    this.#releaseHeld()
    this.#giveUp(ownProperties(loss).isWaiting ? this.#explained(loss) : loss, about)
  }

  #releaseHeld(): void {
    this.#deps.heldEvents.releaseAllNow()
    this.dropUntriggered() // last, because a record that waited for its resource may be held for its trace next
  }

  /**
   * Gives up the pending events: all of them, or those of the given origins. `kept` events, which were handed off before,
   * are in the same warning. A warning of events that were logged at the end names no number: more of them may follow.
   */
  #giveUp(loss: LossWords, about: string, givenUp: GivenUp = {}): void {
    const { how, remedy, isLoggedAtEnd } = ownProperties(loss)
    const { kept = 0, origins } = ownProperties(givenUp)
    const { pipeline, ledger, diagnostics, onEmptied } = this.#deps
    const { pending, handedOff } = ledger
    if (kept === 0 && pending === handedOff) return
    const closedBefore = closedDrops(ledger)
    const subject = isLoggedAtEnd ? `${about}, logged at the end` : about
    const what = (count: number): string => (isLoggedAtEnd ? loggedAtEnd : events(count))
    const warn = (): void => {
      const keptInAll = kept + ledger.handedOff - handedOff
      if (keptInAll > 0) {
        const message = `${what(keptInAll)} could not be delivered ${how}. ${inSpool}`
        diagnostics.warn('LOGFERRY_SPOOL', message, subject)
      }
      const lost = closedDrops(ledger) - closedBefore
      if (lost === 0) return
      const isOne = lost === 1 && !isLoggedAtEnd
      const message = `${what(lost)} could not be delivered ${how}. ${isOne ? 'It is' : 'They are'} dropped. ${remedy}`
      diagnostics.warn('LOGFERRY_DROPPED', message, subject)
    }
    const isKept = (batch: Batch): boolean => pipeline.spool?.handOff(batch) ?? false
    pipeline.delivery.abandon('closed', { isKept, origins, onSettled: warn })
    pipeline.spool?.emitPending()
    onEmptied()
  }

  /**
   * Hands off what the spool can take, without holding up the event loop. Returns the number of events. The events that
   * remain, such as those in flight, are for `#giveUp`.
   */
  async #handOffAll(): Promise<number> {
    const { pipeline, ledger } = this.#deps
    let kept = 0
    await pipeline.batchQueue.handOffAll(batch => {
      const { handedOff } = ledger
      const isHandedOff = pipeline.spool?.handOff(batch) ?? false
      kept += ledger.handedOff - handedOff
      return isHandedOff
    })
    return kept
  }

  /** Adds the reason why the events waited to a loss, if that reason is known. */
  #explained(loss: LossWords): LossWords {
    const why = this.#deps.pipeline.delivery.whyWaiting(monotonicMs())
    return why === undefined ? loss : { ...loss, how: loss.how + why.clause, remedy: why.remedy }
  }
}

const loggedAtEnd = 'events that were logged while the process ended'
const inSpool = 'Delivery continues from the spool, by the next process that uses it or by `logferry spool send`.'

/** Returns the number of events dropped for lack of time. Events that the service refuses have a warning of their own. */
function closedDrops(ledger: Ledger): number {
  const { sent, unsent } = ledger.dropCounts().get('closed') ?? { sent: 0, unsent: 0 }
  return sent + unsent
}

function events(count: number): string {
  return count === 1 ? '1 event' : `${count} events`
}
