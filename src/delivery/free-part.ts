/**
 * Minimum time of an observation, in milliseconds. It is longer than a `Retry-After` of one second that another process
 * waits out.
 */
const minObservationMs = 3000
/** Minimum number of answers in an observation. */
const minAnswers = 5
/** Part of a window that is left free. */
const keptFree = 0.03
/**
 * Margin for chance, divided by the number of answers. For n random moments of a window that is fully used, the minimum is
 * 1 / (n + 1) on average. Among many processes, whose answers are few, chance would make the shares of some too large.
 */
const margin = { few: 1.6, some: 1.6, many: 3 }
/**
 * A free part that few processes share is large from `min` on, if chance would show it in at most this part of all
 * observations. A process that uses most of the limit has then made room, for a short time. The part less this margin
 * counts so many times, so that a newcomer grows fast enough.
 */
const largePart = { min: 0.3, maxChance: 0.05, margin: 0.08, times: 2 }

/** How many processes share a limit. */
export type Sharers = 'few' | 'some' | 'many'

/**
 * Measures the part of a shared limit that no process uses, by the answers of the service. Answers come at any moment of
 * the service's window, so only the minimum of several answers shows that part. Time is monotonic, in milliseconds.
 */
export class FreePart {
  #minimum = 1
  #answers = 0
  #sinceMs = 0

  /** Starts a new observation. */
  restart(nowMs: number): void {
    this.#minimum = 1
    this.#answers = 0
    this.#sinceMs = nowMs
  }

  /**
   * Notes the part of a window that an answer says is free, from 0 to 1. At the end of an observation, returns the part
   * that may be taken, which may be negative, and starts a new observation; until then returns `undefined`.
   */
  observe(nowMs: number, free: number, sharers: Sharers): number | undefined {
    this.#minimum = Math.min(this.#minimum, free)
    if (++this.#answers < minAnswers || nowMs - this.#sinceMs < minObservationMs) return undefined
    const [minimum, answers] = [this.#minimum, this.#answers]
    this.restart(nowMs)
    const surelyFree = minimum - keptFree - margin[sharers] / answers
    const isLarge = minimum >= largePart.min && (1 - minimum) ** answers <= largePart.maxChance
    if (sharers !== 'few' || !isLarge) return surelyFree
    return Math.max(surelyFree, (minimum - largePart.margin) * largePart.times)
  }
}
