import type { Diagnostics } from '../accounting/diagnostics.ts'
import type { Ledger } from '../accounting/ledger.ts'
import type { Sender } from '../delivery/sender.ts'
import { type LossWords, loggedWithoutEnd, outOfTime } from '../exit/drain-at-exit.ts'
import {
  type ExitDrainable,
  holdExitHooks,
  registerDrainable,
  releaseExitHooks,
  stopWaiting,
  unregisterDrainable,
} from '../exit/exit-hooks.ts'
import type { WorkerHttpClient } from '../http/worker-client.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import { openBatchBytes, reserveStack } from '../stack-reserve.ts'
import { monotonicMs } from '../time.ts'
import type { Drain } from './drain.ts'
import type { HeldEvents } from './held-events.ts'
import type { IntakeDrops } from './intake/intake-drops.ts'
import type { Pipeline } from './pipeline.ts'

interface ShipperAtExitDeps {
  readonly options: Pick<ResolvedOptions, 'exitTimeoutMs' | 'exitOnSignals'>
  readonly pipeline: Pipeline
  readonly drain: Drain
  readonly heldEvents: HeldEvents
  readonly sender: Sender
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly intakeDrops: () => IntakeDrops
  /** Number of pending events that are dropped at the end, unless an event of their trace releases them before. */
  readonly untriggered: () => number
}

/** Maximum time from the end of a round to the next one, in milliseconds, if the process does nothing in between. */
const nextRoundMs = 1000

/**
 * Empties a shipper when the process ends. The shipper is registered with the exit hooks while it has pending events.
 */
export class ShipperAtExit implements ExitDrainable {
  readonly exitTimeoutMs: number
  readonly exitOnSignals: boolean
  readonly #deps: ShipperAtExitDeps
  /** True while the exit hooks stay although nothing is pending. */
  #isHolding = false
  /** True while events are to be delivered, for which a signal waits. */
  #isRegistered = false
  /** True while events of any kind are pending. */
  #isDrainable = false
  /** Time by which unsuccessful rounds have held up the natural end of the process, in milliseconds. */
  #heldUpMs = 0
  /** True if the last round delivered every event that was pending when it began. */
  #wasComplete = false
  /** End of the last round; monotonic, in milliseconds. */
  #roundEndMs = Number.NEGATIVE_INFINITY

  constructor(deps: ShipperAtExitDeps) {
    this.#deps = deps
    this.exitTimeoutMs = deps.options.exitTimeoutMs
    this.exitOnSignals = deps.options.exitOnSignals
  }

  /** Makes sure that events of any later log call can be delivered when the process ends. */
  hold(): void {
    if (this.#isHolding) return
    this.#isHolding = true
    holdExitHooks()
  }

  release(): void {
    if (!this.#isHolding) return
    this.#isHolding = false
    releaseExitHooks()
  }

  get isRegistered(): boolean {
    return this.#isRegistered
  }

  register(): void {
    this.#deps.pipeline.spool?.resume()
    reserveStack(openBatchBytes)
    registerDrainable(this, this.exitTimeoutMs > 0)
    this.#isDrainable = true
    this.#isRegistered = true
  }

  /** Registers for events that would be dropped at the end: they are counted then, but no signal waits for them. */
  registerUntriggered(): void {
    if (this.#isDrainable) return
    registerDrainable(this, false)
    this.#isDrainable = true
  }

  /** Unregisters the shipper if no event is pending, once every drop has been reported. */
  unregisterIfDone(): void {
    const { ledger, intakeDrops, untriggered, heldEvents } = this.#deps
    if (intakeDrops().reportRest()) return // the report has called this method again
    if (heldEvents.areLate()) return
    const pending = ledger.pending - ledger.handedOff
    if (this.#isRegistered && pending <= untriggered()) {
      this.#isRegistered = false
      stopWaiting(this)
    }
    if (!this.#isDrainable || pending > 0) return
    this.#isDrainable = false
    unregisterDrainable(this)
  }

  settleWithoutRequests(): void {
    const { diagnostics, drain, intakeDrops } = this.#deps
    diagnostics.emitDue() // a listener has ended the process
    drain.dropUntriggered()
    intakeDrops().reportAll()
  }

  sendNow(): void {
    this.#deps.drain.sendAtHand()
  }

  /**
   * If a listener logs whenever events are delivered or dropped, or requests are made, 'beforeExit' follows right after
   * each round. All these rounds share the time.
   */
  async finish(): Promise<void> {
    if (this.exitTimeoutMs === 0) return // the events are dropped at 'exit', if they are still pending
    const startedAtMs = monotonicMs()
    if (startedAtMs - this.#roundEndMs > nextRoundMs) this.#heldUpMs = 0 // the process has gone on meanwhile
    const timeoutMs = this.exitTimeoutMs - this.#heldUpMs
    const loss = (this.#heldUpMs > 0 && this.#wasComplete ? loggedWithoutEnd : outOfTime)(this.exitTimeoutMs)
    if (timeoutMs <= 0) return this.dropRemaining(loss) // in this turn, so that the process ends
    this.#deps.heldEvents.takeLate() // nothing else will happen that they wait for
    const isRepeated = true // at the next 'beforeExit'
    const isComplete = await this.#deps.drain.finish(timeoutMs, { about: 'natural end', isRepeated, loss })
    this.#wasComplete = isComplete
    this.#roundEndMs = monotonicMs()
    this.unregisterIfDone()
    const isDone = isComplete && !this.#isDrainable // otherwise events have been logged by the round itself
    const usedMs = isComplete ? this.#roundEndMs - startedAtMs : timeoutMs // all of it, also if the round ended early
    this.#heldUpMs = isDone ? 0 : this.#heldUpMs + usedMs
    if (isDone) void this.#deps.sender.close() // other shippers may need the descriptors for their connections
  }

  beginDrain(client: WorkerHttpClient, timeoutMs: number): void {
    const { pipeline, sender, drain, heldEvents } = this.#deps
    const { delivery, batchQueue } = pipeline
    delivery.useSyncSender((batch, onAttempt) => sender.sendSync(client, batch, onAttempt))
    batchQueue.enterSyncMode()
    delivery.skipBackoff(timeoutMs)
    heldEvents.takeLate()
    drain.sendAtHand()
  }

  step(): number {
    const { pipeline, drain } = this.#deps
    if (pipeline.delivery.inFlight === 0) drain.sendAtHand() // for events that listeners have logged since
    return pipeline.delivery.wake()
  }

  isWaitingForAnswers(): boolean {
    return this.#deps.pipeline.delivery.inFlight > 0
  }

  dropRemaining(loss: LossWords): void {
    this.#deps.heldEvents.takeLate() // so that they are counted
    this.#deps.drain.dropRemaining(loss, 'exit')
  }

  endDrain(): void {
    const { batchQueue, delivery, spool } = this.#deps.pipeline
    delivery.clearDeadline()
    batchQueue.leaveSyncMode()
    delivery.useSyncSender(undefined)
    spool?.emitPending()
  }
}
