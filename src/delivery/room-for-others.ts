/** Time for which the room is offered, in milliseconds. In it, a small share can double twice or three times. */
const offerMs = 12_000
/**
 * Time from the first offer to the second, in milliseconds. Each pause is longer by the factor, up to the maximum. If no
 * room was needed for so long, the pauses begin anew.
 */
const firstPauseMs = 45_000
const pauseFactor = 4
const maxPauseMs = 720_000

/**
 * Decides when a process that uses most of a shared limit leaves a large part of it to the others for a while. A process
 * that came later cannot know if the limit is used by one other process or by forty. So it grows slowly into a limit that
 * is full. If the others do not use the room, the process takes it back.
 *
 * Time is monotonic, in milliseconds.
 */
export class RoomForOthers {
  #endMs = Number.NEGATIVE_INFINITY
  #nextMs = Number.NEGATIVE_INFINITY
  #pauseMs = firstPauseMs

  /** Begins an offer unless there was one recently. Returns true if so. */
  offer(nowMs: number): boolean {
    if (nowMs < this.#nextMs) return false
    if (nowMs - this.#nextMs > maxPauseMs) this.#pauseMs = firstPauseMs // others have come anew
    this.#endMs = nowMs + offerMs
    this.#nextMs = nowMs + this.#pauseMs
    this.#pauseMs = Math.min(this.#pauseMs * pauseFactor, maxPauseMs)
    return true
  }

  isOffered(nowMs: number): boolean {
    return nowMs < this.#endMs
  }
}
