/** Refused pieces of a dataset, with nothing accepted in between, after which the dataset is paused. */
const refusalsUntilPause = 32
/** Answers that refuse an event alone before it is dropped: one of several gateways may be the one that refuses. */
const refusalsUntilDrop = 3
/** How long a dataset must have been refused, while others are accepted, until its own events are held to be the reason. */
const convictAfterMs = 60_000
/** Requests for one batch of a dataset that is refused as a whole. What is left of the batch then is dropped. */
const maxRequestsPerBatch = 64

const firstDelayMs = 1000
const maxDelayMs = 60_000

/** What the service said when it refused lines, and when; monotonic, in milliseconds. */
export interface Refusal {
  readonly atMs: number
  readonly status: number
  readonly reason: string
}

/** A piece of a batch, the moment it is refused. */
export interface RefusedPiece {
  /** Lines in it. */
  readonly count: number
  /** The time before, when it or the piece that it was cut from was refused. */
  readonly refusal: Refusal | undefined
  /** How often it has been refused as it is, this time included. */
  readonly refusals: number
  /** Requests made for the lines of the batch that it was cut from. */
  readonly requests: number
}

/** What is to become of a refused piece. */
export type Verdict =
  /** Its halves are sent. */
  | { readonly kind: 'split' }
  /** It is sent again at once: there is evidence against it, and one answer is not enough to drop it. */
  | { readonly kind: 'retry' }
  /** It waits, and what else there is of its dataset goes first. */
  | { readonly kind: 'hold'; readonly untilMs: number }
  | { readonly kind: 'drop' }

/**
 * The refusals of one dataset, as long as a refused piece of it waits.
 *
 * An answer that refuses everything says something about the way to the service, not about the events: a rule of a
 * firewall, a broken deployment. So an event is dropped only on evidence: it was refused, then the service accepted others
 * of its dataset, then it was refused again, alone. Without evidence the pieces wait, and soon the whole dataset does.
 *
 * Times are monotonic, in milliseconds.
 */
export class Refusals {
  /** Lines of the refused pieces that wait. */
  #lines = 0
  /** Since when nothing has been accepted. */
  #sinceMs: number
  /** Pieces refused since then, each counted once. */
  #pieces = 0
  /** The accepted request that started last. */
  #accepted = { startedAtMs: Number.NEGATIVE_INFINITY, answeredAtMs: Number.NEGATIVE_INFINITY }

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  /** True if so many pieces were refused in a row, for no reason of their own, that the dataset is to be paused. */
  get isEndless(): boolean {
    return this.#pieces >= refusalsUntilPause
  }

  /** True if no refused piece waits any more. */
  get isSettled(): boolean {
    return this.#lines <= 0
  }

  /** Notes that lines of a refused piece were delivered or dropped. */
  onSettled(lines: number): void {
    this.#lines -= lines
  }

  /** Notes that a request with other events of the dataset was accepted. */
  onAccepted(startedAtMs: number, nowMs: number): void {
    if (startedAtMs > this.#accepted.startedAtMs) this.#accepted = { startedAtMs, answeredAtMs: nowMs }
    this.#pieces = 0
    this.#sinceMs = nowMs
  }

  /**
   * Decides about a piece that was just refused.
   *
   * @param startedAtMs when its request started
   * @param serviceAcceptedAtMs when the last request of any dataset started that the service has accepted
   */
  judge(piece: RefusedPiece, startedAtMs: number, nowMs: number, serviceAcceptedAtMs: number): Verdict {
    if (piece.refusals === 1) this.#pieces++
    if (piece.refusal === undefined) this.#lines += piece.count
    const isConvicted = nowMs - this.#sinceMs >= convictAfterMs && nowMs - serviceAcceptedAtMs < convictAfterMs
    if (isConvicted) this.#pieces = 0
    if (piece.count > 1) return isConvicted && piece.requests >= maxRequestsPerBatch ? drop : { kind: 'split' }
    const isToBlame = isConvicted || this.#hasEvidence(piece, startedAtMs)
    if (isToBlame) return piece.refusals >= refusalsUntilDrop ? drop : { kind: 'retry' }
    return { kind: 'hold', untilMs: nowMs + Math.min(firstDelayMs * 2 ** Math.min(piece.refusals - 1, 16), maxDelayMs) }
  }

  /** Refused, then others accepted, then refused again. */
  #hasEvidence({ refusal }: RefusedPiece, startedAtMs: number): boolean {
    const accepted = this.#accepted
    return refusal !== undefined && accepted.startedAtMs >= refusal.atMs && accepted.answeredAtMs <= startedAtMs
  }
}

const drop = { kind: 'drop' } as const
