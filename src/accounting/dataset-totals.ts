import type { Delivered } from './diagnostics.ts'
import { isRefused } from './drop-reasons.ts'
import type { Dropped } from './ledger.ts'

/** The events of one dataset, as far as the dataset was known when they were counted. */
export interface DatasetStats {
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that were given up after their log calls. */
  readonly dropped: number
  /** Dropped events that the service refused, for their content or their size. */
  readonly rejected: number
  /**
   * Events that wait in batches or are in flight. Events that were handed off to the spool do not count. Within a
   * listener, all events of the batch that the listener is told of may still count.
   */
  readonly pending: number
}

/** The pending events of a batch. */
interface PendingEvents {
  readonly dataset: string
  readonly unsettledCount: number
}

/** Maximum number of datasets. An application that puts values into dataset names would grow the counts forever. */
const maxDatasets = 1000

/**
 * Counts the delivered and dropped events of each dataset, for the 1,000 datasets that were active last. It hears of the
 * events as every listener does, batch by batch, so that log calls pay nothing.
 */
export class DatasetTotals {
  /** The dataset that was active last is at the end. */
  readonly #counts = new Map<string, { delivered: number; dropped: number; rejected: number }>()

  onDelivered({ dataset, count }: Delivered): void {
    this.#of(dataset).delivered += count
  }

  onDropped({ dataset, count, reason }: Dropped): void {
    if (dataset === undefined) return
    const counts = this.#of(dataset)
    counts.dropped += count
    if (isRefused(reason)) counts.rejected += count
  }

  /**
   * Returns the counts of at most 1,000 datasets. Datasets with pending events come first, then the datasets that were
   * active last. The object inherits nothing, because a dataset may be called `__proto__`.
   */
  snapshot(batches: Iterable<PendingEvents>): Readonly<Record<string, DatasetStats>> {
    const stats: Record<string, { -readonly [Count in keyof DatasetStats]: number }> = Object.create(null)
    let free = maxDatasets
    for (const { dataset, unsettledCount } of batches) {
      const known = stats[dataset]
      if (known !== undefined) known.pending += unsettledCount
      else if (unsettledCount > 0 && free-- > 0)
        stats[dataset] = { ...(this.#counts.get(dataset) ?? none), pending: unsettledCount }
    }
    if (free <= 0) return stats
    for (const dataset of [...this.#counts.keys()].reverse()) {
      if (dataset in stats) continue
      if (free-- === 0) return stats
      stats[dataset] = { ...(this.#counts.get(dataset) ?? none), pending: 0 }
    }
    return stats
  }

  #of(dataset: string): { delivered: number; dropped: number; rejected: number } {
    const counts = this.#counts.get(dataset) ?? { ...none }
    this.#counts.delete(dataset)
    this.#counts.set(dataset, counts)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > maxDatasets && oldest !== undefined) this.#counts.delete(oldest)
    return counts
  }
}

const none = { delivered: 0, dropped: 0, rejected: 0 }
