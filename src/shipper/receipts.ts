import type { DropReason } from '../accounting/drop-reasons.ts'
import { Acknowledgement } from '../batch/acknowledgements.ts'
import type { BatchQueue } from '../batch/batch-queue.ts'
import type { Waiting } from '../delivery/warnings.ts'
import { setImmediate } from '../time.ts'
import { deadline } from '../time-limits.ts'
import { droppedAtOnce, lostLater, type NotConfirmedError, notInTime } from './not-confirmed-error.ts'

interface ReceiptsDeps {
  readonly batchQueue: Pick<BatchQueue, 'flushAwaited'>
  /** Returns why events wait, if that is known. */
  readonly whyWaiting: () => Waiting | undefined
}

/**
 * Events whose callers wait for the answer of the service. Their batches do not wait for more lines. All events of one
 * turn of the event loop share their batches. So do events of later turns, as long as every connection is busy.
 */
export class Receipts {
  readonly #deps: ReceiptsDeps
  #isFlushScheduled = false

  constructor(deps: ReceiptsDeps) {
    this.#deps = deps
  }

  /**
   * Ships one event by `take`, which gives the acknowledgement to the intake, and returns the reason if the event is
   * dropped. Resolves to `undefined` when the service has taken the event. Otherwise resolves to a function that creates
   * the error, for the caller to throw: the error then shows where the application waits.
   *
   * The timer keeps the process alive meanwhile, because a caller waits.
   */
  confirm(
    take: (acknowledgement: Acknowledgement) => DropReason | undefined,
    timeoutMs: number,
  ): Promise<(() => NotConfirmedError) | undefined> {
    const acknowledgement = new Acknowledgement()
    const dropReason = take(acknowledgement)
    if (dropReason !== undefined) return Promise.resolve(droppedAtOnce.bind(undefined, dropReason))
    return new Promise(resolve => {
      this.#flushSoon()
      const stopClock = deadline(timeoutMs, () => {
        const why = this.#deps.whyWaiting()?.clause ?? ''
        resolve(() => notInTime(timeoutMs, why))
      })
      acknowledgement.onSettled(() => {
        stopClock()
        const { loss } = acknowledgement
        resolve(loss && (() => lostLater(loss)))
      })
    })
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
