import type { Diagnostics } from '../accounting/diagnostics.ts'
import type { Ledger } from '../accounting/ledger.ts'
import { BatchQueue } from '../batch/batch-queue.ts'
import type { BatchLimits } from '../batch/dataset-queue.ts'
import { MemoryBudget } from '../batch/memory-budget.ts'
import { Breaker } from '../delivery/breaker.ts'
import type { Compression } from '../delivery/compression.ts'
import { Delivery, type DeliveryDeps, type Exported } from '../delivery/delivery.ts'
import { RateLimiter } from '../delivery/rate-limiter.ts'
import type { Answer } from '../http/exchange.ts'
import { ownProperties } from '../own-properties.ts'
import type { SpoolCoordinator, SpoolCoordinatorDeps } from './spool-coordinator.ts'

export interface PipelineDeps {
  readonly limits: BatchLimits
  readonly maxBufferedBytes: number
  readonly maxRetryDelayMs: number
  readonly maxConcurrentRequests: number
  readonly timeField: string
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly compression: Compression
  readonly rateLimiter?: RateLimiter
  /** Makes one attempt to send one batch. */
  readonly send: DeliveryDeps['send']
  readonly openSpool?: ((deps: SpoolCoordinatorDeps) => SpoolCoordinator) | undefined
  /** Called when events have been adopted from the spool. */
  readonly onAdopted?: () => void
  /** Called when lines have been delivered or dropped. */
  readonly onSettled?: () => void
  /** Called when memory may have room again because batches moved to the spool. */
  readonly onRoom?: () => void
  readonly onAnswer?: (headers: Answer['headers']) => void
  /** Called while events wait for the first request of all. May hold it back by the rate limiter. */
  readonly onFirstWaiting?: () => void
  /** Called when the service has answered a batch of the dataset with a 2xx status. */
  readonly onDelivered?: (dataset: string) => void
  /** Called when a batch that was sent is delivered or dropped, after its last attempt. Never throws. */
  readonly onExported?: (exported: Exported) => void
  readonly random?: () => number
}

/** Batching, delivery and the spool on one memory budget and one ledger: lines go in, requests come out. */
export interface Pipeline {
  readonly memory: MemoryBudget
  readonly batchQueue: BatchQueue
  readonly rateLimiter: RateLimiter
  readonly delivery: Delivery
  readonly spool: SpoolCoordinator | undefined
}

export function openPipeline(given: PipelineDeps): Pipeline {
  const deps = ownProperties(given)
  const { limits, ledger, diagnostics, compression, maxConcurrentRequests, timeField, random = Math.random } = deps
  const memory = new MemoryBudget(deps.maxBufferedBytes, limits.maxBatchBytes)
  const spool = deps.openSpool?.({
    ledger,
    diagnostics,
    memory,
    batchQueue: () => batchQueue,
    onAdopted: () => deps.onAdopted?.(),
  })
  const batchQueue = new BatchQueue(
    limits,
    memory,
    {
      onReady: () => delivery.pump(),
      onLost: (count, dataset) => spool?.onLost(count, dataset),
      onFound: count => spool?.onFound(count),
      onUnreadable: batch => spool?.onUnreadable(batch),
      onSpooled: (dataset, count, bytes) => spool?.onSpooled({ dataset, count, bytes, isHandedOff: false }),
      onRoom: () => deps.onRoom?.(),
    },
    spool?.spool,
  )
  const breaker = new Breaker(deps.maxRetryDelayMs, random, () => memory.minSeverity > 0)
  const rateLimiter = deps.rateLimiter ?? new RateLimiter()
  const delivery = new Delivery({
    batches: batchQueue,
    send: deps.send,
    breaker,
    rateLimiter,
    compression,
    ledger,
    diagnostics,
    maxConcurrentRequests,
    timeField,
    keepRefused: spool && (refused => spool.keepRefused(refused)),
    onSettled: () => deps.onSettled?.(),
    onAnswer: headers => deps.onAnswer?.(headers),
    onFirstWaiting: () => deps.onFirstWaiting?.(),
    onDelivered: dataset => deps.onDelivered?.(dataset),
    onExported: exported => deps.onExported?.(exported),
  })
  return { memory, batchQueue, rateLimiter, delivery, spool }
}
