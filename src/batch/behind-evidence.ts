import { monotonicMs } from '../time.ts'
import type { Acceptances } from './acceptances.ts'
import type { Pause } from './pause.ts'

/** Number of failed requests after which a dataset may be behind. */
const minFailures = 2
/** Time after which one failed request is enough, in milliseconds. */
const longMs = 1000
/** Time without an accepted request of another dataset after which the evidence may end, in milliseconds. */
const forgottenMs = 15_000

/**
 * The failed requests of one dataset since the service last accepted events of it, as evidence that the dataset is behind.
 *
 * A dataset is behind if at least 2 of its requests failed while others were accepted. One failure is enough if it took
 * 1 s, or if the dataset is paused. The evidence ends when no other dataset has been accepted for 15 s, nor since the
 * failure before the last one: the whole service is away.
 *
 * Times are monotonic, in milliseconds.
 */
export class BehindEvidence {
  readonly #dataset: string
  readonly #acceptances: Acceptances
  /** Number of failures while other datasets were accepted; a long one counts as enough. */
  #failures = 0
  #firstFailedAtMs = 0
  #lastFailedAtMs: number | undefined
  /** Time of the failure before the last one, or start of the first failed request. */
  #failedBeforeMs = 0

  constructor(dataset: string, acceptances: Acceptances) {
    this.#dataset = dataset
    this.#acceptances = acceptances
  }

  /** Notes the failure of a request that started at that time. */
  onFailed(startedAtMs: number): void {
    const nowMs = monotonicMs()
    // Others may have been accepted while the first failed request was on its way, just before the service went away.
    const sinceMs = this.#lastFailedAtMs ?? (startedAtMs + nowMs) / 2
    const isLong = nowMs - startedAtMs >= longMs
    if (this.#acceptances.lastOfOthers(this.#dataset) > sinceMs) this.#failures += isLong ? minFailures : 1
    if (this.#lastFailedAtMs === undefined) this.#firstFailedAtMs = nowMs
    this.#failedBeforeMs = this.#lastFailedAtMs ?? startedAtMs
    this.#lastFailedAtMs = nowMs
  }

  /** Returns false if the dataset is certainly not behind. Every log call asks this first, because it costs less. */
  mayBeBehind(pause: Pause | undefined): boolean {
    return this.#failures >= minFailures || pause !== undefined
  }

  /** Returns true if the service accepts nothing of the dataset while it accepts other datasets. */
  isBehind(pause: Pause | undefined): boolean {
    if (!this.mayBeBehind(pause)) return false
    const acceptedAtMs = this.#acceptances.lastOfOthers(this.#dataset)
    if (this.#failures < minFailures && acceptedAtMs <= this.#firstFailedAtMs) return false
    return acceptedAtMs > Math.min(this.#failedBeforeMs, monotonicMs() - forgottenMs)
  }
}
