import type { BatchLimits } from '../batch/dataset-queue.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { ResolvedSpool } from '../options/spool-options.ts'

/**
 * Maximum bytes of a batch that grows because the request rate is limited: the maximum of the option `maxBatchBytes`.
 */
const maxTunedBatchBytes = 16_777_216
/**
 * Minimum for the batch size that follows from memory and spool, in bytes: the minimum of the option `maxBatchBytes`.
 */
const minBatchBytes = 1024

/** Returns the limits with which batching starts. */
export function batchLimits(options: ResolvedOptions): BatchLimits {
  const { maxBatchEvents, maxBatchAgeMs, maxBufferedBytes, maxBatchBytes, spool } = options
  const within = spool === undefined ? Number.POSITIVE_INFINITY : maxSpooledBytes(options, spool)
  // At an eighth of the memory each, four batches can be in flight while four others are being filled or wait.
  const maxTunedBytes = Math.min(maxTunedBatchBytes, Math.floor(maxBufferedBytes / 8))
  return {
    maxBatchBytes: Math.min(maxBatchBytes, within),
    maxBatchAgeMs,
    batchBytesCeiling: Math.min(Math.max(maxBatchBytes, maxTunedBytes), within),
    maxUnlimitedBytes: options.maxUnlimitedBatchBytes,
    maxBlockBytes: maxBatchBytes,
    maxBatchEvents,
    sealedBytes: 0,
    sealedEvents: 0,
  }
}

/**
 * Returns the maximum bytes of a batch with a spool. In-flight batches and their compressed copies then never take more
 * than half of the memory. All other batches can always move to the disk, of which one batch is a small part.
 */
function maxSpooledBytes({ maxBufferedBytes, maxConcurrentRequests }: ResolvedOptions, spool: ResolvedSpool): number {
  const maxInFlightBytes = maxBufferedBytes / (4 * maxConcurrentRequests)
  return Math.max(Math.floor(Math.min(maxInFlightBytes, spool.maxBytes / 8)), minBatchBytes)
}
