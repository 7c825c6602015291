/** Number of rounds of refusals in a row before a part of a refused batch is tried. */
const roundsUntilTrial = 8
/** Number of rounds that a request without an answer counts for, as it takes the time of many other requests. */
const roundsOfSilence = 4
/** Number of parts accepted, each followed by the refusal of a larger batch, until the size counts as the reason. */
const turnsUntilProven = 4
/** The part of a refused batch that is tried: an eighth, an eighth of that, and so on. */
const partTried = 8
/** Minimum size of a part that is tried, in bytes. */
const minTrialBytes = 1024
/** Time without a refusal after which the earlier ones say nothing any more, in milliseconds. */
const forgetAfterMs = 600_000

/** A refusal of a batch by an answer that does not name the size as its reason, or by no answer. */
export interface SizeRefusal {
  /** Bytes of the lines. */
  readonly bytes: number
  /** Start of the request; monotonic, in milliseconds. */
  readonly startedAtMs: number
  readonly nowMs: number
  /** True if no answer came within the time for a request. */
  readonly isSilence?: boolean | undefined
}

export type SizeVerdict =
  /** The batch is sent again as it is. */
  | { readonly kind: 'retry' }
  /** Only the first lines of the batch are sent, as a trial. */
  | { readonly kind: 'try-part'; readonly maxBytes: number }
  /** The part that was tried is joined to the rest of its batch again. */
  | { readonly kind: 'rejoin' }
  /** The size is the reason: batches of so many bytes are accepted. */
  | { readonly kind: 'too-large'; readonly acceptedBytes: number }

/**
 * Finds out if the batches of one dataset are refused for their size, although the answers do not say so. Examples are a
 * gateway that answers 502, or closes the connection. After some refusals, parts of the refused batches are tried.
 *
 * The size is the reason if each part is accepted, and each larger batch refused. An outage refuses every part. Trouble
 * that comes and goes soon refuses a size that was accepted before, or accepts a size that was refused.
 *
 * Times are monotonic, in milliseconds.
 */
export class SizeEvidence {
  /** Size of the smallest refused batch. */
  #refusedBytes = Number.POSITIVE_INFINITY
  /** Size of the largest accepted batch. */
  #acceptedBytes = 0
  /** Number of rounds of refusals: requests that were in flight together are one. */
  #rounds = 0
  /** Time of the last round. */
  #roundAtMs = Number.NEGATIVE_INFINITY
  /** Divisor for the size of the next trial. */
  #divisor = partTried
  /** Size of the last trial; 0 if there was none. */
  #trialBytes = 0
  /** True if a batch of about that size was accepted since the last round. */
  #isTrialAccepted = false
  /** Number of times that a larger batch was refused after that. */
  #turns = 0

  onRefused({ bytes, startedAtMs, nowMs, isSilence }: SizeRefusal): SizeVerdict {
    if (nowMs - this.#roundAtMs > forgetAfterMs || bytes <= this.#acceptedBytes) this.#forget()
    const isTrial = bytes <= this.#trialBytes
    this.#refusedBytes = Math.min(this.#refusedBytes, bytes)
    if (startedAtMs < this.#roundAtMs) return { kind: isTrial ? 'rejoin' : 'retry' }
    this.#roundAtMs = nowMs
    this.#rounds += isSilence ? roundsOfSilence : 1
    if (isTrial) {
      this.#divisor *= partTried
      return { kind: 'rejoin' }
    }
    if (this.#isTrialAccepted) this.#turns++
    this.#isTrialAccepted = false
    const acceptedBytes = this.#acceptedBytes
    if (this.#turns >= turnsUntilProven) {
      this.#forget()
      return { kind: 'too-large', acceptedBytes }
    }
    if (this.#rounds < roundsUntilTrial || bytes < minTrialBytes * partTried) return { kind: 'retry' }
    if (bytes < minTrialBytes * this.#divisor) this.#divisor = partTried
    this.#trialBytes = Math.max(Math.ceil(bytes / this.#divisor), acceptedBytes)
    return { kind: 'try-part', maxBytes: this.#trialBytes }
  }

  onAccepted(bytes: number, startedAtMs: number): void {
    if (startedAtMs < this.#roundAtMs) return
    if (bytes >= this.#refusedBytes) return this.#forget()
    this.#acceptedBytes = Math.max(this.#acceptedBytes, bytes)
    this.#isTrialAccepted ||= this.#trialBytes > 0 && bytes * 2 > this.#trialBytes
  }

  #forget(): void {
    this.#refusedBytes = Number.POSITIVE_INFINITY
    this.#acceptedBytes = 0
    this.#rounds = 0
    this.#divisor = partTried
    this.#trialBytes = 0
    this.#isTrialAccepted = false
    this.#turns = 0
  }
}
