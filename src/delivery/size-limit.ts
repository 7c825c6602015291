/**
 * Time for which a learned size is kept before a larger size is tried, in milliseconds; doubled each time that the
 * larger size is refused.
 */
const firstProbeAfterMs = 10_000
const maxProbeAfterMs = 600_000
/** Minimum size to which batches are cut, in bytes: below it, each request costs more than its content. */
const minBytes = 1024

/** The sizes learned from answers that refuse a batch for its size, such as a 413. */
interface Learned {
  /** Size of the smallest batch that was refused. */
  refusedBytes: number
  /** Half of `refusedBytes`, or the size of the largest batch that was accepted. */
  fittingBytes: number
  readonly firstRefusedAtMs: number
  lastRefusedAtMs: number
  /** Time of the first answer that accepted a request that started after the first refusal. */
  acceptedAtMs: number
  /** True when a larger batch was refused after a smaller one had been accepted. */
  isBelieved: boolean
  probeAfterMs: number
  probeAtMs: number
}

/**
 * The size of batches that the service was found to accept, in bytes of lines.
 *
 * A 413 alone says little: a proxy that is misconfigured for a moment answers 413 to everything. The size is believed
 * when a smaller batch was accepted and a larger batch was refused after that. Twice a believed size is tried from time
 * to time, and at once after a success. The size is forgotten as soon as a batch is accepted that should have been too
 * large.
 *
 * Times are monotonic, in milliseconds.
 */
export class SizeLimit {
  #learned: Learned | undefined

  /** The size to which larger batches are cut; `Infinity` while no size is believed. */
  get maxBytes(): number {
    return this.#learned?.isBelieved ? this.#learned.fittingBytes : Number.POSITIVE_INFINITY
  }

  /** Returns the size to which the next batch is cut: `maxBytes`, or twice that if it is time to try a larger size. */
  nextMaxBytes(batchBytes: number, nowMs: number): number {
    const learned = this.#learned
    if (learned === undefined || batchBytes <= this.maxBytes || nowMs < learned.probeAtMs) return this.maxBytes
    learned.probeAtMs = nowMs + learned.probeAfterMs
    return this.maxBytes * 2
  }

  /** Returns the size to which batches may grow. A single 413 is enough not to make batches larger than configured. */
  maxGrownBytes(nowMs: number): number {
    const learned = this.#learned
    if (learned === undefined) return Number.POSITIVE_INFINITY
    return nowMs < learned.probeAtMs ? learned.fittingBytes : learned.fittingBytes * 2
  }

  /**
   * Notes that a batch of several lines was refused for its size. Returns true if batches are cut, or cut smaller, from
   * now on.
   *
   * @param acceptedBytes size of a smaller batch that was accepted; the size is then believed at once
   */
  onTooLarge(bytes: number, startedAtMs: number, nowMs: number, acceptedBytes?: number): boolean {
    const before = this.maxBytes
    const learned = this.#learned ?? nothingYet(nowMs)
    this.#learned = learned
    const isLarger = learned.isBelieved ? bytes > learned.fittingBytes : bytes >= learned.refusedBytes
    const isProbe = startedAtMs > learned.lastRefusedAtMs && isLarger
    if (isProbe) learned.probeAfterMs = Math.min(learned.probeAfterMs * 2, maxProbeAfterMs)
    learned.isBelieved ||= acceptedBytes !== undefined || startedAtMs >= learned.acceptedAtMs
    learned.lastRefusedAtMs = nowMs
    learned.refusedBytes = Math.min(learned.refusedBytes, bytes)
    const knownBytes = learned.fittingBytes < bytes ? learned.fittingBytes : 0
    const fittingBytes = acceptedBytes === undefined ? learned.refusedBytes / 2 : Math.max(acceptedBytes, knownBytes)
    learned.fittingBytes = Math.max(Math.ceil(fittingBytes), minBytes)
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
    if (bytes <= learned.fittingBytes) return
    learned.fittingBytes = bytes
    if (!learned.isBelieved) return
    learned.probeAfterMs = firstProbeAfterMs
    learned.probeAtMs = nowMs
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
