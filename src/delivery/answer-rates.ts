/**
 * Time constant of the averages, in milliseconds. Shorter, a few processes would know little; longer, a limit that the
 * service has lowered would show late.
 */
export const answersDecayMs = 2500
/** The first answer counts as if it came after this time, in milliseconds. */
const minAgeMs = 500

/** The answers of the last seconds. */
export interface Answers {
  /** Rates of accepted and of refused requests, in requests per second. */
  readonly acceptedPerSecond: number
  readonly refusedPerSecond: number
  /** Time since a request was accepted, in milliseconds; `Infinity` if none was. */
  readonly sinceAcceptedMs: number
}

/** True if the service has answered a request of the process. */
export function hasAnswer({ sinceAcceptedMs, refusedPerSecond }: Answers): boolean {
  return sinceAcceptedMs !== Number.POSITIVE_INFINITY || refusedPerSecond > 0
}

/** How many requests per second the service accepts and refuses. Times are monotonic, in milliseconds. */
export class AnswerRates {
  /** Decaying counts, as of `#atMs`. */
  #accepted = 0
  #refused = 0
  #atMs = Number.NEGATIVE_INFINITY
  /** Time of the first answer that counts. */
  #sinceMs: number | undefined
  #acceptedAtMs = Number.NEGATIVE_INFINITY

  onAnswer(nowMs: number, isRefused: boolean): void {
    const kept = this.#keptUntil(nowMs)
    this.#sinceMs ??= nowMs
    this.#accepted = this.#accepted * kept + (isRefused ? 0 : 1)
    this.#refused = this.#refused * kept + (isRefused ? 1 : 0)
    this.#atMs = nowMs
    if (!isRefused) this.#acceptedAtMs = nowMs
  }

  /** Forgets all answers: an outage has ended, which said nothing about the limit. */
  restart(): void {
    this.#accepted = 0
    this.#refused = 0
    this.#sinceMs = undefined
  }

  /** Returns the rates of the last seconds, and the time since a request was accepted. */
  at(nowMs: number): Answers {
    const ageMs = Math.max(nowMs - (this.#sinceMs ?? nowMs), minAgeMs)
    const seconds = (answersDecayMs * (1 - Math.exp(-ageMs / answersDecayMs))) / 1000 // young counts have not decayed
    const perCount = this.#keptUntil(nowMs) / seconds
    return {
      acceptedPerSecond: this.#accepted * perCount,
      refusedPerSecond: this.#refused * perCount,
      sinceAcceptedMs: nowMs - this.#acceptedAtMs,
    }
  }

  #keptUntil(nowMs: number): number {
    return Math.exp((this.#atMs - nowMs) / answersDecayMs)
  }
}
