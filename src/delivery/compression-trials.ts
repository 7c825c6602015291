/** Number of failures in a row before the first trial. Each accepted trial asks for one more before the next. */
const failuresUntilTrial = 2
/** Number of trials to accept, with no compressed body accepted in between, before the compression is the reason. */
const acceptedUntilBlamed = 2
/** Time after an accepted compressed body in which no failure is blamed on the compression, in milliseconds. */
const trustedForMs = 10_000
/** Minimum time between two trials if the first one failed, in milliseconds: in an outage, size matters. */
const betweenFailedMs = 60_000

/**
 * Finds out if a service answers requests with an error because of their compression, although the status does not say
 * so. Examples are a 403 by a firewall, and a 500 by a server that cannot read the body. After some failures, one batch
 * is sent uncompressed, as a trial. A service in general trouble refuses that, too, or accepts compressed bodies again.
 *
 * The number of failures before each trial differs, so that two gateways in turn, one of them broken, do not look like
 * that. Times are monotonic, in milliseconds.
 */
export class CompressionTrials {
  #failures = 0
  #accepted = 0
  #trustedUntilMs = Number.NEGATIVE_INFINITY
  #notBeforeMs = Number.NEGATIVE_INFINITY

  /** Notes that a compressed body failed. */
  onFailed(nowMs: number): void {
    if (nowMs >= this.#trustedUntilMs && nowMs >= this.#notBeforeMs) this.#failures++
  }

  /** Returns true if the next batch is to be sent uncompressed. */
  begin(nowMs: number): boolean {
    if (this.#failures < failuresUntilTrial + this.#accepted) return false
    this.#failures = 0
    this.#notBeforeMs = nowMs + betweenFailedMs
    return true
  }

  /** Notes that a compressed body was accepted. */
  onAccepted(nowMs: number): void {
    this.reset()
    this.#trustedUntilMs = nowMs + trustedForMs
  }

  /** Notes that the batch of a trial was accepted. Returns true if the compression is the reason for the failures. */
  onTrialAccepted(): boolean {
    this.#failures = 0
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
    return ++this.#accepted >= acceptedUntilBlamed
  }

  /** Forgets everything: another encoding is in use. */
  reset(): void {
    this.#failures = 0
    this.#accepted = 0
    this.#trustedUntilMs = Number.NEGATIVE_INFINITY
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
  }
}
