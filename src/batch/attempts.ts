import type { Compressed } from '../http/encodings.ts'
import type { Refusal } from './refusals.ts'

/** How an attempt ended. */
export interface AttemptEnd {
  /** HTTP status of the answer, if one came. */
  readonly status: number | undefined
  /** The status as a text, or the code of the error; `undefined` if the service took the batch. */
  readonly errorType: string | undefined
}

/** The attempts to send a batch so far, and what the service answered. */
export class Attempts {
  #count = 0
  #startedAtMs = Number.POSITIVE_INFINITY
  /** How the last attempt ended; `undefined` before that. */
  end: AttemptEnd | undefined
  #notBeforeMs = 0
  #acceptedBeforeMs = Number.NEGATIVE_INFINITY
  #refusal: Refusal | undefined
  #refusals = 0
  #blockedAtMs = Number.POSITIVE_INFINITY
  #isSizeTrial = false
  #suspect: Compressed | undefined
  #isCompressionTrial = false
  /** True if the last attempt began beside one without an answer, because the deadline was near. */
  isRepeated = false

  /** Number of attempts. */
  get count(): number {
    return this.#count
  }

  /**
   * Start of the first attempt of the batch, or of the one that it was split from; monotonic, in milliseconds. `Infinity`
   * before that.
   */
  get startedAtMs(): number {
    return this.#startedAtMs
  }

  /** Monotonic time before which the batch is not sent again, in milliseconds. */
  get notBeforeMs(): number {
    return this.#notBeforeMs
  }

  /**
   * True if the service accepted other events of the dataset after it had blocked these lines, and before the last
   * attempt. Then the reason is in the lines, not in the token or the address.
   */
  get isBlockedAlone(): boolean {
    return this.#acceptedBeforeMs >= this.#blockedAtMs
  }

  /** True if an answer such as a 403 has blocked these lines. */
  get wasBlocked(): boolean {
    return this.#blockedAtMs !== Number.POSITIVE_INFINITY
  }

  /** Start of the latest accepted request whose answer had arrived when the last attempt began; monotonic. */
  get acceptedBeforeMs(): number {
    return this.#acceptedBeforeMs
  }

  /** The last refusal of the batch, or of the batch that it was split from. */
  get refusal(): Refusal | undefined {
    return this.#refusal
  }

  /** Number of times that the service refused the batch as it is. */
  get refusals(): number {
    return this.#refusals
  }

  /** True if the batch is a part of a refused batch, and is sent to find out if the size is the reason. */
  get isSizeTrial(): boolean {
    return this.#isSizeTrial
  }

  /**
   * The compression with which the service refused the batch. The batch is then sent uncompressed, to find out if the
   * compression was the reason.
   */
  get suspect(): Compressed | undefined {
    return this.#suspect
  }

  /** True if the batch is sent uncompressed because of errors that may have any other reason. */
  get isCompressionTrial(): boolean {
    return this.#isCompressionTrial
  }

  /**
   * Counts an attempt that begins at that time. Returns true if it repeats an earlier one. Times are monotonic.
   *
   * @param acceptedAtMs start of the latest request with events of the dataset that was accepted
   */
  begin(nowMs: number, acceptedAtMs: number): boolean {
    this.#startedAtMs = Math.min(this.#startedAtMs, nowMs)
    this.#acceptedBeforeMs = acceptedAtMs
    return this.#count++ > 0
  }

  delayUntil(atMs: number): void {
    this.#notBeforeMs = atMs
  }

  refuse(refusal: Refusal): void {
    this.#refusals++
    this.#refusal = refusal
  }

  /** Notes an answer that pauses the dataset, such as a 403. */
  block(nowMs: number): void {
    this.#blockedAtMs = Math.min(this.#blockedAtMs, nowMs)
  }

  /** Notes that the next attempt sends only this part of a refused batch. */
  beginSizeTrial(): void {
    this.#isSizeTrial = true
  }

  endSizeTrial(): void {
    this.#isSizeTrial = false
  }

  /** Sends the batch uncompressed from now on, because this compression may be the reason for the refusal. */
  suspectCompression(encoding: Compressed): void {
    this.#suspect = encoding
    this.#isCompressionTrial = false
  }

  /** Sends the batch uncompressed, to find out if this compression is the reason for errors. */
  beginCompressionTrial(encoding: Compressed): void {
    this.#suspect = encoding
    this.#isCompressionTrial = true
  }

  /** Lets the batch be compressed again. */
  clearCompression(): void {
    this.#suspect = undefined
    this.#isCompressionTrial = false
  }

  /** Returns the attempts of a part of the batch. The part has not been refused as it is. */
  forPart(): Attempts {
    const attempts = new Attempts()
    attempts.#count = this.#count
    attempts.#startedAtMs = this.#startedAtMs
    attempts.end = this.end
    attempts.#notBeforeMs = this.#notBeforeMs
    attempts.#refusal = this.#refusal
    attempts.#blockedAtMs = this.#blockedAtMs
    attempts.#suspect = this.#suspect
    attempts.#isCompressionTrial = this.#isCompressionTrial
    return attempts
  }

  /** Notes that another batch was joined to this one. The joined batch has not been refused as a whole. */
  join(other: Attempts): void {
    this.#startedAtMs = Math.min(this.#startedAtMs, other.#startedAtMs)
    this.#notBeforeMs = Math.max(this.#notBeforeMs, other.#notBeforeMs)
    this.#refusal ??= other.#refusal
    this.#refusals = 0
    this.#blockedAtMs = Math.max(this.#blockedAtMs, other.#blockedAtMs)
  }
}
