import { type Compressed, type Encoding, encodingAfter } from '../http/encodings.ts'
import { CompressionTrials } from './compression-trials.ts'

/** Bodies with fewer bytes are sent uncompressed: the trip through the thread pool costs more than it saves. */
const minBytes = 1024

/** Time until a refused encoding is tried again, in milliseconds; doubled each time that it is refused again. */
const firstProbeAfterMs = 60_000
const maxProbeAfterMs = 86_400_000

/**
 * Chooses the compression in use: the configured one, until the service refuses it. A refused encoding is tried again
 * from time to time, with one batch: the service may have been in trouble, or may accept the encoding by now. Times are
 * monotonic, in milliseconds.
 */
export class Compression {
  encoding: Encoding
  /** The refused encodings, which are better than the one in use; the best one first. */
  readonly #refused: Encoding[] = []
  /**
   * True if the service accepted a body in this encoding, or refuses bodies for another reason. A 400 is then not the
   * fault of the encoding.
   */
  #isCleared = false
  #probeAfterMs = firstProbeAfterMs
  #probeAtMs = Number.POSITIVE_INFINITY
  /** True from the trial of a refused encoding until the answer. */
  #isProbing = false
  readonly #trials = new CompressionTrials()

  constructor(encoding: Encoding) {
    this.encoding = encoding
  }

  /** Returns the encoding of the next body. When it is time to try a better encoding, only this body gets it. */
  encodingFor(byteLength: number, nowMs: number): Encoding {
    if (byteLength < minBytes) return 'none'
    const better = this.#refused.at(-1)
    if (better === undefined || nowMs < this.#probeAtMs) return this.encoding
    this.#probeAtMs = nowMs + this.#probeAfterMs
    this.#isProbing = true
    return better
  }

  /** True if a body may have been refused for its encoding. */
  isSuspect(used: Encoding): used is Compressed {
    return used !== 'none' && !(used === this.encoding && this.#isCleared)
  }

  /** Notes that a body was accepted, or was refused for a reason other than its encoding. */
  clear(used: Encoding): void {
    if (used === this.encoding) this.#isCleared = true
  }

  /** Notes an error that does not name the encoding. */
  onFailed(used: Encoding, nowMs: number): void {
    if (used !== 'none' && used === this.encoding) this.#trials.onFailed(nowMs)
  }

  /** Returns the encoding in use if the next body is to be sent without it, to find out if it is the reason for errors. */
  beginTrial(byteLength: number, nowMs: number): Compressed | undefined {
    if (this.encoding === 'none' || byteLength < minBytes) return undefined
    return this.#trials.begin(nowMs) ? this.encoding : undefined
  }

  /** Notes that the batch of a trial was accepted. Returns true if the service refuses the encoding. */
  onTrialAccepted(used: Encoding): boolean {
    return used === this.encoding && this.#trials.onTrialAccepted()
  }

  /** Notes that lines were accepted uncompressed after a refusal, for which the encoding in use may be the reason. */
  doubt(): void {
    this.#isCleared = false
  }

  /** Notes that the service accepted a body in this encoding, which may be better than the one in use. */
  accept(used: Encoding, nowMs: number): void {
    if (used === this.#refused.at(-1)) {
      this.#refused.pop()
      this.#isProbing = false
      this.encoding = used
      this.#probeAfterMs = firstProbeAfterMs
      this.#probeAtMs = nowMs + firstProbeAfterMs
    }
    if (used === this.encoding) this.#trials.onAccepted(nowMs)
    this.clear(used)
  }

  /** Notes that a body in this encoding failed. Returns true if it was the trial of a better encoding. */
  endProbe(used: Encoding, nowMs: number): boolean {
    if (used !== this.#refused.at(-1) || !this.#isProbing) return false
    this.#isProbing = false
    this.#probeAfterMs = Math.min(this.#probeAfterMs * 2, maxProbeAfterMs)
    this.#probeAtMs = nowMs + this.#probeAfterMs
    return true
  }

  /**
   * Notes that the service refuses this encoding. Returns true if the encoding in use changed. If several requests in
   * flight find this out, it counts once.
   */
  stepDown(used: Encoding, nowMs: number): boolean {
    if (used === 'none') return false
    this.endProbe(used, nowMs)
    if (used !== this.encoding) return false
    this.#probeAtMs = nowMs + this.#probeAfterMs
    this.#refused.push(used)
    this.encoding = encodingAfter(used)
    this.#isCleared = false
    this.#trials.reset()
    return true
  }
}
