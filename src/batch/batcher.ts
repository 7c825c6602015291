import type { Severity } from '../record/severity.ts'
import type { Batch } from './batch.ts'
import type { Memory } from './memory.ts'
import { type BatchLimits, Row } from './row.ts'

/** Lines → batches: a row of batches for each dataset, and who waits for them. */
export class Batcher {
  readonly limits: BatchLimits
  readonly #memory: Memory
  readonly #onReady: () => void
  /** In the order in which they are served; the one served last stands last. */
  readonly #rows = new Map<string, Row>()
  readonly #unsettled = new Set<Batch>()

  /** `onReady` is called, possibly inside a log call, when there may be a batch to take. */
  constructor(limits: BatchLimits, memory: Memory, onReady: () => void) {
    this.limits = limits
    this.#memory = memory
    this.#onReady = onReady
  }

  /** Adds a line; `false` when there is no memory for it. */
  add(
    dataset: string,
    severity: Severity,
    head: Uint8Array | undefined,
    json: string,
    tail: Uint8Array | undefined,
  ): boolean {
    return this.row(dataset).add(severity, head, json, tail)
  }

  row(dataset: string): Row {
    let row = this.#rows.get(dataset)
    if (row === undefined) {
      row = new Row(dataset, this.limits, this.#memory, this.#track, this.#onReady)
      this.#rows.set(dataset, row)
    }
    return row
  }

  /** What is needed to tune batches to the pace. */
  load(): { addedBytes: number; waitingBytes: number; datasets: number } {
    const rows = [...this.#rows.values()]
    const openBytes = rows.reduce((bytes, row) => bytes + row.openBytes, 0)
    const waitingBytes = rows.reduce((bytes, row) => bytes + row.waitingBytes, 0)
    return { addedBytes: this.limits.sealedBytes + openBytes, waitingBytes, datasets: rows.length }
  }

  /** The next batch that may be sent now; datasets take turns. */
  take(nowMs: number): Batch | undefined {
    for (const row of this.#rows.values()) {
      const batch = row.take(nowMs)
      if (batch === undefined) continue
      this.#rows.delete(row.dataset)
      this.#rows.set(row.dataset, row)
      return batch
    }
    return undefined
  }

  /** Monotonic time from which on `take` may give a batch; `Infinity` when nothing waits. */
  wakeAtMs(): number {
    let atMs = Number.POSITIVE_INFINITY
    for (const row of this.#rows.values()) atMs = Math.min(atMs, row.wakeAtMs())
    return atMs
  }

  /** Lets every open batch go; resolves when all lines that are here now have been delivered or dropped. */
  async flush(): Promise<void> {
    for (const row of this.#rows.values()) row.flush()
    this.#onReady()
    await Promise.all([...this.#unsettled].map(batch => batch.whenSettled()))
  }

  /** Makes everything due that waits after a failure. */
  hurry(): void {
    for (const row of this.#rows.values()) row.hurry()
  }

  /** Takes every batch that is not in flight, held back or not. */
  takeAll(): Batch[] {
    return [...this.#rows.values()].flatMap(row => row.takeAll())
  }

  readonly #track = (batch: Batch): void => {
    this.#unsettled.add(batch)
    void batch.whenSettled().then(() => {
      this.#unsettled.delete(batch)
      const row = this.#rows.get(batch.dataset)
      if (row?.isEmpty && row.pause === undefined) this.#rows.delete(batch.dataset)
    })
    this.#onReady()
  }
}
