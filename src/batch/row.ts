import type { Severity } from '../record/severity.ts'
import { Batch } from './batch.ts'
import type { Memory } from './memory.ts'

/** When a batch is full, shared by every row. Size and age follow the pace that the service allows. */
export interface BatchLimits {
  maxBatchBytes: number
  maxBatchAgeMs: number
  /** What `maxBatchBytes` may never exceed; shrinks when the service finds a batch too large. */
  mostBatchBytes: number
  /** What one event alone may always take. */
  readonly maxBlockBytes: number
  readonly maxBatchEvents: number
  /** Bytes of the batches sealed so far. */
  sealedBytes: number
}

/** Why a dataset's batches are held back: the service refuses its token, name or address until somebody acts. */
export interface Pause {
  /** Monotonic time of the next probe, in milliseconds. */
  untilMs: number
  /** How many times in a row the service has refused. */
  refusals: number
  /** One batch is under way to see whether the service takes it now; the others wait for what becomes of it. */
  isProbing: boolean
}

/** The batches of one dataset: one open for new lines, and the row of those that wait to be sent. */
export class Row {
  readonly dataset: string
  pause: Pause | undefined
  readonly #limits: BatchLimits
  readonly #memory: Memory
  readonly #onOpened: (batch: Batch) => void
  readonly #onSealed: () => void
  /** Oldest first; what comes back after a failed attempt stands at the head again. */
  readonly #waiting: Batch[] = []
  #open: Batch | undefined
  #openedAtMs = 0
  #isFlushing = false
  #lastSealedBytes = 0

  constructor(
    dataset: string,
    limits: BatchLimits,
    memory: Memory,
    onOpened: (batch: Batch) => void,
    onSealed: () => void,
  ) {
    this.dataset = dataset
    this.#limits = limits
    this.#memory = memory
    this.#onOpened = onOpened
    this.#onSealed = onSealed
  }

  get isEmpty(): boolean {
    return this.#open === undefined && this.#waiting.length === 0
  }

  /** Bytes of its lines in the open batch, and in those that wait. */
  get openBytes(): number {
    return this.#open?.byteLength ?? 0
  }

  get waitingBytes(): number {
    return this.#waiting.reduce((bytes, batch) => bytes + batch.byteLength, 0)
  }

  /** Monotonic time at which the open batch has waited long enough for company; `Infinity` when there is none. */
  get dueAtMs(): number {
    if (this.#open === undefined) return Number.POSITIVE_INFINITY
    return this.#isFlushing ? 0 : this.#openedAtMs + this.#limits.maxBatchAgeMs
  }

  /** Adds a line; `false` when there is no memory for it. */
  add(severity: Severity, head: Uint8Array | undefined, json: string, tail: Uint8Array | undefined): boolean {
    const open = this.#open
    if (open !== undefined) {
      if (open.append(severity, head, json, tail, this.#limits.maxBatchBytes)) {
        if (open.count >= this.#limits.maxBatchEvents) this.#sealFull()
        return true
      }
      this.#sealFull()
    }
    const expectedBytes = Math.max(this.#lastSealedBytes, json.length)
    const { maxBatchBytes, maxBlockBytes } = this.#limits
    const batch = Batch.open(this.dataset, expectedBytes, Math.max(maxBatchBytes, maxBlockBytes), this.#memory)
    if (batch === undefined) return false
    if (!batch.append(severity, head, json, tail, maxBlockBytes)) {
      batch.settle()
      return false
    }
    this.#open = batch
    this.#openedAtMs = performance.now()
    this.#onOpened(batch)
    if (this.#limits.maxBatchEvents === 1) this.#sealFull()
    return true
  }

  /** Lets the open batch go without waiting for company. */
  flush(): void {
    this.#isFlushing = this.#open !== undefined
  }

  /**
   * The next batch that may be sent now. The open one is sealed only here, when it is due and somebody can send it: while
   * nobody can, it goes on filling up, and an outage does not leave a trail of small batches.
   */
  take(nowMs: number): Batch | undefined {
    if (this.pause !== undefined && (this.pause.isProbing || this.pause.untilMs > nowMs)) return undefined
    const ready = this.#waiting.findIndex(batch => batch.notBeforeMs <= nowMs)
    if (ready >= 0) return this.#waiting.splice(ready, 1)[0]
    if (this.dueAtMs > nowMs) return undefined
    this.#seal()
    return this.#waiting.pop()
  }

  /** Puts batches back at the head, the first of them first. */
  putBack(...batches: readonly Batch[]): void {
    this.#waiting.unshift(...batches)
  }

  /** Monotonic time from which on `take` may give a batch that it does not give now; `Infinity` when that is not known. */
  wakeAtMs(): number {
    if (this.isEmpty || this.pause?.isProbing) return Number.POSITIVE_INFINITY
    const readyAtMs = Math.min(this.dueAtMs, ...this.#waiting.map(batch => batch.notBeforeMs))
    return Math.max(readyAtMs, this.pause?.untilMs ?? 0)
  }

  /** Makes everything due that waits after a failure. */
  hurry(): void {
    for (const batch of this.#waiting) batch.notBeforeMs = 0
    if (this.pause !== undefined) this.pause.untilMs = 0
  }

  /** Takes everything, held back or not. */
  takeAll(): Batch[] {
    if (this.#open !== undefined) this.#seal()
    return this.#waiting.splice(0)
  }

  #sealFull(): void {
    this.#seal()
    this.#onSealed()
  }

  #seal(): void {
    const batch = this.#open as Batch
    this.#open = undefined
    this.#isFlushing = false
    this.#lastSealedBytes = batch.byteLength
    this.#limits.sealedBytes += batch.byteLength
    this.#waiting.push(batch)
  }
}
