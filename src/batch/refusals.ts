/** Number of refused pieces of a dataset, with nothing accepted in between, after which the dataset is paused. */
const refusalsUntilPause = 32
/**
 * Number of refusals of a single event before it is dropped. One is not enough, because only one of several gateways
 * may refuse the event.
 */
const refusalsUntilDrop = 3
/**
 * The same number while the service is inconsistent. Two requests of the same moment may meet the same one of two
 * gateways. So 20 refusals are about ten independent ones, whose probability is 1 in 1,000.
 */
const inconsistentUntilDrop = 20
/** A dataset is convicted if it is refused for this time while the service accepts other datasets, in milliseconds. */
const convictAfterMs = 60_000
/**
 * Number of requests for one batch after which its refused pieces are dropped instead of split. The dataset must be
 * convicted, and refused `refusalsOfWhole` times in a row.
 */
const maxRequestsPerBatch = 64
/** The search for one refused event in a batch has fewer refusals in a row, however long it takes at a low request rate. */
const refusalsOfWhole = 32

const firstDelayMs = 1000
const maxDelayMs = 60_000

/** A refusal of lines by the service. The time is monotonic, in milliseconds. */
export interface Refusal {
  readonly atMs: number
  readonly status: number
  readonly reason: string
}

/** A batch, or a part of a split batch, at the moment when the service refuses it. */
interface RefusedPiece {
  /** Number of lines. */
  readonly count: number
  /** The previous refusal of the piece, or of the piece that it was split from. */
  readonly refusal: Refusal | undefined
  /** Number of times that the piece was refused as it is, this time included. */
  readonly refusals: number
  /** Number of requests made for the lines of the batch that the piece was split from. */
  readonly requests: number
  /** `DatasetQueue.acceptedAtMs` when the refused request started. */
  readonly acceptedBeforeMs: number
  readonly origin: PieceOrigin
}

/** The batch that a piece was split from. */
export interface PieceOrigin {
  /** Number of lines that are neither delivered, dropped nor handed off. */
  readonly unsettled: number
}

/** The state of the service, as the answers for all datasets show it. */
interface ServiceState {
  /** Start of the latest request that the service accepted; monotonic, in milliseconds. */
  readonly acceptedAtMs: number
  /** False if the service has just accepted an event that it had refused. */
  readonly isConsistent: boolean
}

/** The decision about a refused piece. */
type Verdict =
  /** The piece is split, and its halves are sent. */
  | { readonly kind: 'split' }
  /** The piece is sent again at once: there is evidence against it, but one answer is not enough to drop it. */
  | { readonly kind: 'retry' }
  /** The piece waits until `untilMs`, and other events of its dataset are sent first. */
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'drop' }

/**
 * The refusals of one dataset, as long as a refused piece of it waits.
 *
 * An answer that refuses everything says something about the path to the service, not about the events. Examples are a
 * firewall rule and a broken deployment. So an event is dropped only on evidence. Evidence is three answers: the event
 * was refused, then other events of its dataset were accepted, then the event was refused again, alone. Without
 * evidence the pieces wait, and soon the whole dataset is paused.
 *
 * The evidence is weak while the service accepts events that it has refused, as if one of two gateways refused
 * everything. Such a service is asked more often. Every other attempt follows at once, because the gateways may take
 * turns. The others follow after a wait, because a connection may stay with its gateway.
 *
 * A dataset that is refused for a minute while other datasets are accepted is convicted: it needs no further evidence.
 *
 * Times are monotonic, in milliseconds.
 */
export class Refusals {
  readonly #origins = new Set<PieceOrigin>()
  /** Time since which nothing of the dataset has been accepted. */
  #sinceMs: number
  /** Number of pieces refused since then, each counted once. */
  #pieces = 0
  /** Number of answers that refused a piece since then. */
  #inRow = 0
  #areMany = false

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  /**
   * True if so many pieces were refused in a row that the dataset must be paused. The count restarts once the dataset is
   * convicted: then its own events are the reason.
   */
  get mustPause(): boolean {
    return this.#pieces >= refusalsUntilPause
  }

  /** True once so many pieces were refused in a row. They then take turns with other batches, which they would hold up. */
  get areMany(): boolean {
    return this.#areMany
  }

  /** True if every line of the batches with refused pieces is settled. */
  get isSettled(): boolean {
    for (const origin of this.#origins) {
      if (origin.unsettled > 0) return false
      this.#origins.delete(origin)
    }
    return true
  }

  /** Notes that a request with other events of the dataset was accepted. */
  onAccepted(nowMs: number): void {
    this.#pieces = 0
    this.#inRow = 0
    this.#sinceMs = nowMs
  }

  /** Decides what happens to a piece that was just refused. */
  judge(piece: RefusedPiece, nowMs: number, service: ServiceState): Verdict {
    if (piece.refusals === 1) this.#pieces++
    this.#inRow++
    this.#origins.add(piece.origin)
    const isConvicted = nowMs - this.#sinceMs >= convictAfterMs && nowMs - service.acceptedAtMs < convictAfterMs
    if (this.mustPause) this.#areMany = true
    if (isConvicted) this.#pieces = 0
    if (piece.count > 1) {
      const isWhole = isConvicted && this.#inRow >= refusalsOfWhole
      return isWhole && piece.requests >= maxRequestsPerBatch ? drop : { kind: 'split' }
    }
    const isToBlame = isConvicted || hasEvidence(piece)
    const untilDrop = service.isConsistent ? refusalsUntilDrop : inconsistentUntilDrop
    if (isToBlame && piece.refusals >= untilDrop) return drop
    if (isToBlame && (service.isConsistent || piece.refusals % 2 === 1)) return { kind: 'retry' }
    return { kind: 'wait', untilMs: nowMs + Math.min(firstDelayMs * 2 ** Math.min(piece.refusals - 1, 16), maxDelayMs) }
  }
}

/** True if the piece was refused, then other events were accepted, and then the piece was refused again. */
function hasEvidence({ refusal, acceptedBeforeMs }: RefusedPiece): boolean {
  return refusal !== undefined && acceptedBeforeMs >= refusal.atMs
}

const drop = { kind: 'drop' } as const
