import type { DropReason } from '../accounting/ledger.ts'
import { Acknowledgement } from '../batch/acknowledgements.ts'
import type { BatchQueue } from '../batch/batch-queue.ts'
import { setImmediate } from '../time.ts'
import type { Intake } from './intake/intake.ts'
import { droppedAtOnce, lostLater, notInTime } from './not-confirmed-error.ts'
import { settlesWithin } from './settles-within.ts'

export interface ReceiptsDeps {
  readonly intake: Pick<Intake, 'track'>
  readonly batchQueue: Pick<BatchQueue, 'flushAwaited'>
}

/**
 * Events whose callers wait for the answer of the service. Their batches do not wait for more lines. All events of one
 * turn of the event loop share their batches, and as long as every connection is busy, those of later turns as well.
 */
export class Receipts {
  readonly #deps: ReceiptsDeps
  #isFlushScheduled = false

  constructor(deps: ReceiptsDeps) {
    this.#deps = deps
  }

  /**
   * Ships one event by `take`, which returns the reason if the event is dropped. Resolves when the service has taken
   * the event.
   *
   * @throws NotConfirmedError if the event is lost, or the service does not answer for it in time
   */
  async confirm(take: () => DropReason | undefined, timeoutMs: number): Promise<void> {
    const acknowledgement = new Acknowledgement()
    let dropReason: DropReason | undefined
    this.#deps.intake.track(acknowledgement, () => {
      dropReason = take()
    })
    if (dropReason !== undefined) throw droppedAtOnce(dropReason)
    this.#flushSoon()
    if (!(await settlesWithin(acknowledgement.whenSettled(), timeoutMs))) throw notInTime(timeoutMs)
    if (acknowledgement.loss !== undefined) throw lostLater(acknowledgement.loss)
  }

  #flushSoon(): void {
    if (this.#isFlushScheduled) return
    setImmediate(() => {
      this.#isFlushScheduled = false
      this.#deps.batchQueue.flushAwaited()
    })
    this.#isFlushScheduled = true
  }
}
