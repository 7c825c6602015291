import { createShipper, NotConfirmedError, type Shipper } from '../index.ts'
import { DeadLetters } from '../spool/dead-letters.ts'
import type { ResendDirectory, TakenLetter } from '../spool/resend-directory.ts'
import { maxTimeoutMs, SystemDate, systemTimeMs } from '../time.ts'
import type { Given } from './command.ts'
import type { Ending } from './ending.ts'
import { createWith } from './option-remedies.ts'
import { serviceOf } from './service.ts'
import { deliver } from './spool-delivery.ts'

/** Maximum number and size of the events that are on their way at a time. */
const maxAtOnce = 2000
const maxBytesAtOnce = 8_388_608
const usualEventBytes = 1_000_000
const usualBatchBytes = 1_048_576

/** Counts of the refused events by their fate. */
export interface Tally {
  delivered: number
  /** Refused by the service once more. */
  refused: number
  /** Not answered: the service was away, or the command was stopped. */
  unanswered: number
  /** In a batch of which the service refused some events without naming them. */
  doubtful: number
  /** Lines that hold no event that could be sent. */
  unsendable: number
}

interface ResenderDeps {
  readonly letters: ResendDirectory
  readonly directory: string
  readonly tally: Tally
  /** Only the events of this dataset are sent, if it is given. */
  readonly dataset: string | undefined
}

/** Sends the refused events of a spool again, and notes what becomes of each one. */
export class Resender {
  readonly #deps: ResenderDeps
  readonly #datasets = new WeakMap<object, string>()
  readonly #deadLetters: DeadLetters
  #rewritten = 0

  constructor(deps: ResenderDeps) {
    this.#deps = deps
    // No new file is begun, as it would take the place of one with refusals that this run has written. A letter whose refusal
    // cannot be written stays as it is.
    this.#deadLetters = new DeadLetters(deps.directory, () => {}, Number.POSITIVE_INFINITY)
  }

  /** Number of events that are in `rejected.ndjson` with a new reason. */
  get rewritten(): number {
    return this.#rewritten
  }

  /**
   * Sends the events.
   *
   * @throws Misuse if an option of the shipper is invalid
   */
  async run(given: Given, timeoutMs: number | undefined): Promise<Ending> {
    const { tally } = this.#deps
    let count = 0
    let maxBytes = 0
    for (const letter of this.#wanted()) {
      if (letter.kind !== 'event') tally.unsendable++
      else {
        count++
        maxBytes = Math.max(maxBytes, Buffer.byteLength(letter.line))
      }
    }
    if (count === 0) return 'done'
    const shipper = this.#shipperOf(given, maxBytes)
    let work: Promise<void> | undefined
    const ending = await deliver(shipper, count, timeoutMs, (shipper, over) => {
      work = this.#sendAll(shipper, over)
      return work
    })
    await work // `deliver` has closed the shipper, which settles every event
    this.#deadLetters.close()
    tally.unanswered = count - tally.delivered - tally.refused - tally.doubtful
    return ending
  }

  *#wanted(): Generator<TakenLetter> {
    const { letters, dataset } = this.#deps
    for (const letter of letters.letters()) {
      if (dataset === undefined || (letter.kind !== 'unreadable' && letter.dataset === dataset)) yield letter
    }
  }

  async #sendAll(shipper: Shipper, over: AbortSignal): Promise<void> {
    let sending: Promise<void>[] = []
    let bytes = 0
    for (const letter of this.#wanted()) {
      if (letter.kind !== 'event') continue
      sending.push(this.#send(letter, shipper))
      bytes += letter.line.length
      if (sending.length < maxAtOnce && bytes < maxBytesAtOnce) continue
      await Promise.all(sending)
      if (over.aborted) return
      sending = []
      bytes = 0
    }
    await Promise.all(sending)
  }

  async #send(letter: TakenLetter & { readonly kind: 'event' }, shipper: Shipper): Promise<void> {
    const { letters, tally } = this.#deps
    this.#datasets.set(letter.event, letter.dataset)
    try {
      await shipper.shipAndConfirm(letter.event, { timeoutMs: maxTimeoutMs })
    } catch (error) {
      if (!(error instanceof NotConfirmedError)) throw error
      if (error.code === 'LOGFERRY_REJECTED') this.#onRefused(letter, error)
      return
    }
    tally.delivered++
    letters.settle(letter)
  }

  /** Replaces the letter by one with the new reason, if the reason has changed. */
  #onRefused(letter: TakenLetter & { readonly kind: 'event' }, error: NotConfirmedError): void {
    const { letters, tally } = this.#deps
    if (error.dropReason === undefined) {
      tally.doubtful++
      return
    }
    tally.refused++
    const { status, serviceReason: reason = letter.reason } = error
    if (status === letter.status && reason === letter.reason) return
    const { dataset, event } = letter
    const rewritten = { dataset, json: JSON.stringify(event), status, reason }
    if (this.#deadLetters.write([rewritten], new SystemDate(systemTimeMs())) === 0) return
    letters.settle(letter)
    this.#rewritten++
  }

  /** Creates a shipper that changes no event. */
  #shipperOf(given: Given, maxBytes: number): Shipper {
    const maxBatchBytes = Math.max(usualBatchBytes, maxBytes)
    return createWith(() =>
      createShipper({
        ...serviceOf(given),
        dataset: event => this.#datasets.get(event) as string,
        ...(given['time-field'] === undefined ? {} : { timeField: String(given['time-field']) }),
        ...(maxBytes > usualEventBytes ? { maxEventBytes: maxBytes, maxBatchBytes } : {}),
        maxRetryDelayMs: 5000,
        exitTimeoutMs: 0, // the command closes the shipper before the process ends
      }),
    )
  }
}
