/** Number of rounds of refusals in a row before a part of a refused batch is tried. */
const roundsUntilTrial = 8
/**
 * Number of rounds, and of confirmations, that a request without an answer in time counts for, as it takes the time of many
 * other requests.
 */
const roundsOfTimeout = 4
/** Number of times that a larger batch is refused after a smaller one was accepted, until the size counts as the reason. */
const confirmationsUntilProven = 4
/** The part of a refused batch that is tried: an eighth, an eighth of that, and so on. */
const partTried = 8
/** Minimum size of a part that is tried, in bytes. */
const minTrialBytes = 1024
/** Minimum size of a batch that is suspected of being too large, in bytes. */
const minSuspectBytes = partTried * minTrialBytes
/** Time without a refusal after which the earlier ones say nothing any more, in milliseconds. */
const forgetAfterMs = 600_000

/** The outcome of an attempt to send a batch: the size of the batch, and the times of the attempt. */
export interface SizedAttempt {
  /** Bytes of the lines. */
  readonly bytes: number
  /** Start of the request; monotonic, in milliseconds. */
  readonly startedAtMs: number
  readonly nowMs: number
  /** True if the batch is a part that is tried. */
  readonly isTrial: boolean | undefined
  /** True if no answer came within the time for a request. */
  readonly hasTimedOut: boolean | undefined
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
 * gateway that answers 400 or 502, or closes the connection, and a link that is too slow for the time of a request.
 *
 * After an answer that asks for another attempt, parts of the batch are tried; after a 400, the batch is split in any
 * case. The size is the reason if every smaller batch is accepted, and every larger one refused. An outage refuses parts
 * of any size. Trouble that comes and goes soon refuses a size that was accepted before, or accepts a size that was
 * refused. So does a single event that is refused.
 *
 * Times are monotonic, in milliseconds.
 */
export class SizeEvidence {
  /** Size of the smallest refused batch. */
  #refusedBytes = Number.POSITIVE_INFINITY
  /** Size of the largest accepted batch. */
  #acceptedBytes = 0
  /** True if a batch was accepted since the last round. */
  #hasAccepted = false
  /** True if a part that was tried was accepted since the last round. */
  #hasAcceptedTrial = false
  /** Number of rounds of refusals: requests that were in flight together are one. */
  #rounds = 0
  /** Time of the last round. */
  #roundAtMs = Number.NEGATIVE_INFINITY
  /** Divisor for the size of the next trial. */
  #divisor = partTried
  /** Number of rounds that refused a larger batch after a smaller one was accepted. */
  #confirmations = 0

  /** Notes a refusal with an answer that asks for another attempt, or without an answer. */
  onFailed(attempt: SizedAttempt): SizeVerdict {
    const { bytes, isTrial, hasTimedOut } = attempt
    // On a slow link, a small request has no answer in time because of large ones beside it.
    if (hasTimedOut && !isTrial && bytes < minSuspectBytes) return { kind: 'retry' }
    const isRound = this.#note(attempt)
    if (isTrial && isRound) this.#divisor *= partTried
    if (isTrial) return { kind: 'rejoin' }
    if (!isRound) return { kind: 'retry' }
    const acceptedBytes = this.#endRound(this.#hasAcceptedTrial, hasTimedOut ? roundsOfTimeout : 1)
    if (acceptedBytes !== undefined) return { kind: 'too-large', acceptedBytes }
    if (this.#rounds < roundsUntilTrial || bytes < minSuspectBytes) return { kind: 'retry' }
    if (bytes < minTrialBytes * this.#divisor) this.#divisor = partTried
    return { kind: 'try-part', maxBytes: Math.max(Math.ceil(bytes / this.#divisor), this.#acceptedBytes) }
  }

  /**
   * Notes a refusal after which the batch is split to find the event to blame. Returns the size of the largest accepted
   * batch if the size is the reason.
   *
   * @param isFresh true if the batch is no part of a refused batch: a search for one event looks like a size limit
   */
  onSplit(attempt: SizedAttempt, isFresh: boolean): number | undefined {
    const isRound = this.#note(attempt, isFresh && attempt.bytes >= minSuspectBytes)
    return isRound ? this.#endRound(this.#hasAccepted, 1) : undefined
  }

  onAccepted({ bytes, startedAtMs, isTrial }: Omit<SizedAttempt, 'nowMs'>): void {
    if (startedAtMs < this.#roundAtMs) return
    if (bytes >= this.#refusedBytes) return this.#forget()
    this.#acceptedBytes = Math.max(this.#acceptedBytes, bytes)
    this.#hasAccepted = true
    this.#hasAcceptedTrial ||= isTrial === true
  }

  /** Notes a refusal. Returns true if a new round begins with it. */
  #note({ bytes, startedAtMs, nowMs, hasTimedOut }: SizedAttempt, mayBeRound = true): boolean {
    if (nowMs - this.#roundAtMs > forgetAfterMs || bytes <= this.#acceptedBytes) this.#forget()
    this.#refusedBytes = Math.min(this.#refusedBytes, bytes)
    if (!mayBeRound || startedAtMs < this.#roundAtMs) return false
    this.#roundAtMs = nowMs
    this.#rounds += hasTimedOut ? roundsOfTimeout : 1
    return true
  }

  /** Returns the size of the largest accepted batch if there were enough confirmations. A round counts for some of them. */
  #endRound(isConfirmation: boolean, confirmations: number): number | undefined {
    const acceptedBytes = this.#acceptedBytes
    this.#hasAccepted = false
    this.#hasAcceptedTrial = false
    if (isConfirmation) this.#confirmations += confirmations
    if (this.#confirmations < confirmationsUntilProven) return undefined
    this.#forget()
    return acceptedBytes
  }

  #forget(): void {
    this.#refusedBytes = Number.POSITIVE_INFINITY
    this.#acceptedBytes = 0
    this.#hasAccepted = false
    this.#hasAcceptedTrial = false
    this.#rounds = 0
    this.#divisor = partTried
    this.#confirmations = 0
  }
}
