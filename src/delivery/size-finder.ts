import type { Batch } from '../batch/batch.ts'
import { monotonicMs } from '../time.ts'
import { type SizedAttempt, SizeEvidence, type SizeVerdict } from './size-evidence.ts'
import { SizeLimit } from './size-limit.ts'

/** Maximum number of datasets with evidence about the size of their batches. */
const maxDatasets = 1000

/**
 * Finds the size of batches that the service accepts, by answers that do not name the size. The size holds for every
 * dataset, and the evidence is of one dataset: the service may refuse all events of another.
 */
export class SizeFinder {
  readonly limit = new SizeLimit()
  /** The evidence of the datasets that had failures or refusals; the latest is at the end. */
  readonly #evidence = new Map<string, SizeEvidence>()

  onAccepted({ dataset, byteLength: bytes, attempts }: Batch, startedAtMs: number): void {
    this.limit.onAccepted(bytes, startedAtMs, monotonicMs())
    this.#evidence.get(dataset)?.onAccepted({ bytes, startedAtMs, isTrial: attempts.isSizeTrial, hasTimedOut: false })
  }

  /** Notes that a batch failed for which the size may be the reason. */
  onFailed(
    { dataset, byteLength: bytes, attempts }: Batch,
    { startedAtMs, hasTimedOut }: Pick<SizedAttempt, 'startedAtMs' | 'hasTimedOut'>,
  ): SizeVerdict {
    const acceptedBytes = this.limit.maxBytes
    if (bytes > acceptedBytes) return { kind: 'too-large', acceptedBytes }
    const { isSizeTrial: isTrial } = attempts
    return this.#evidenceOf(dataset).onFailed({ bytes, startedAtMs, nowMs: monotonicMs(), isTrial, hasTimedOut })
  }

  /**
   * Notes a refusal, such as a 400, after which the batch is split. Returns true if batches are cut, or cut smaller, from
   * now on.
   */
  onSplit({ dataset, byteLength: bytes, count, attempts }: Batch, startedAtMs: number): boolean {
    const { maxBytes } = this.limit
    const isFresh = attempts.refusal === undefined && !attempts.wasBlocked
    const attempt = { bytes, startedAtMs, nowMs: monotonicMs(), isTrial: false, hasTimedOut: false }
    const acceptedBytes = bytes > maxBytes ? maxBytes : this.#evidenceOf(dataset).onSplit(attempt, isFresh)
    if (acceptedBytes === undefined || count === 1) return false
    return this.limit.onTooLarge(bytes, startedAtMs, monotonicMs(), acceptedBytes)
  }

  #evidenceOf(dataset: string): SizeEvidence {
    const evidence = this.#evidence.get(dataset) ?? new SizeEvidence()
    this.#evidence.delete(dataset)
    this.#evidence.set(dataset, evidence)
    const [oldest] = this.#evidence.keys()
    if (this.#evidence.size > maxDatasets) this.#evidence.delete(oldest as string)
    return evidence
  }
}
