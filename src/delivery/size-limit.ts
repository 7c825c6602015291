/** How long a learned size is kept before a larger one is tried, in milliseconds; doubled each time that one is refused. */
const firstProbeAfterMs = 10_000
const maxProbeAfterMs = 600_000
/** Batches are not cut smaller than this: below, each request costs more than its content. */
const minBytes = 1024

/** What was learned from answers with the status 413. */
interface Learned {
  /** The smallest batch that was refused. */
  refusedBytes: number
  /** Half of it, or the largest batch that was accepted since. */
  fittingBytes: number
  readonly firstRefusedAtMs: number
  lastRefusedAtMs: number
  /** When the first answer came to a request that started after a refusal and was accepted. */
  acceptedAtMs: number
  /** True once a larger batch was refused after a smaller one had been accepted. */
  isBelieved: boolean
  probeAfterMs: number
  probeAtMs: number
}

/**
 * The size of batches that the service was found to accept, in bytes of lines.
 *
 * A 413 alone says little: a proxy that is misconfigured for a moment answers 413 to everything. The size is believed once
 * a smaller batch was accepted and a larger one was refused after that. What is believed is put to the test from time to
 * time, and forgotten as soon as a batch is accepted that should have been too large.
 *
 * Times are monotonic, in milliseconds.
 */
export class SizeLimit {
  #learned: Learned | undefined

  /** The size that larger batches are cut to; `Infinity` while nothing is believed. */
  get maxBytes(): number {
    return this.#learned?.isBelieved ? this.#learned.fittingBytes : Number.POSITIVE_INFINITY
  }

  /** The size that the next batch is cut to: `maxBytes`, or what was refused before if it is time to try that again. */
  nextMaxBytes(batchBytes: number, nowMs: number): number {
    const learned = this.#learned
    if (learned === undefined || batchBytes <= this.maxBytes || nowMs < learned.probeAtMs) return this.maxBytes
    learned.probeAtMs = nowMs + learned.probeAfterMs
    return Math.max(learned.refusedBytes, this.maxBytes)
  }

  /** The size that batches may grow to: a single 413 is reason enough not to make them larger than configured. */
  maxGrownBytes(nowMs: number): number {
    const learned = this.#learned
    if (learned === undefined) return Number.POSITIVE_INFINITY
    return nowMs < learned.probeAtMs ? learned.fittingBytes : learned.fittingBytes * 2
  }

  /** Notes a 413 to a batch of several lines. Returns true if batches are cut, or cut smaller, from now on. */
  onTooLarge(bytes: number, startedAtMs: number, nowMs: number): boolean {
    const before = this.maxBytes
    const learned = this.#learned ?? nothingYet(nowMs)
    this.#learned = learned
    const isProbe = startedAtMs > learned.lastRefusedAtMs && bytes >= learned.refusedBytes
    if (isProbe) learned.probeAfterMs = Math.min(learned.probeAfterMs * 2, maxProbeAfterMs)
    learned.isBelieved ||= startedAtMs >= learned.acceptedAtMs
    learned.lastRefusedAtMs = nowMs
    learned.refusedBytes = Math.min(learned.refusedBytes, bytes)
    learned.fittingBytes = Math.max(Math.ceil(learned.refusedBytes / 2), minBytes)
    learned.probeAtMs = nowMs + learned.probeAfterMs
    return this.maxBytes < before
  }

  /** Notes that a batch was accepted. */
  onAccepted(bytes: number, startedAtMs: number, nowMs: number): void {
    const learned = this.#learned
    if (learned === undefined || startedAtMs < learned.firstRefusedAtMs) return
    if (bytes >= learned.refusedBytes) {
      this.#learned = undefined
      return
    }
    learned.acceptedAtMs = Math.min(learned.acceptedAtMs, nowMs)
    learned.fittingBytes = Math.max(learned.fittingBytes, bytes)
  }
}

function nothingYet(nowMs: number): Learned {
  return {
    refusedBytes: Number.POSITIVE_INFINITY,
    fittingBytes: Number.POSITIVE_INFINITY,
    firstRefusedAtMs: nowMs,
    lastRefusedAtMs: Number.POSITIVE_INFINITY,
    acceptedAtMs: Number.POSITIVE_INFINITY,
    isBelieved: false,
    probeAfterMs: firstProbeAfterMs,
    probeAtMs: Number.POSITIVE_INFINITY,
  }
}
