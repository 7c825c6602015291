import type { Arrival } from './fleet-arrivals.ts'

/** A period that is judged separately, in milliseconds since 1970. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The life of one process, and its report about its events. */
export interface Life {
  readonly name: string
  /** True if the process has something to send at every moment of its life. */
  readonly isFull: boolean
  /** Time at which the process began to log, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** Time at which the process was killed or told to end; `undefined` if neither. */
  readonly endedAtMs: number | undefined
  /** Numbers of logged and dropped events; `undefined` if the process was killed, so that they are unknown. */
  readonly logged: number | undefined
  readonly dropped: number
  /** Number of events that the service has, and number of arrivals beyond the first of each. */
  readonly distinct: number
  readonly twice: number
}

/** The result of one period, according to the service. */
export interface SpanFigures {
  /** Accepted requests, including reads of the organization, and refused requests. */
  readonly taken: number
  readonly refused: number
  /** Share of all requests that were refused, from 0 to 1. */
  readonly refusedPart: number
  /** Maximum number of requests refused in one second of the clock. */
  readonly maxRefusedPerSecond: number
  readonly takenPerSecond: number
  /** Longest time that a process had something to send without an accepted request, in milliseconds. */
  readonly longestWaitMs: number
  readonly longestWaiting: string | undefined
  /** Ages of the oldest event of each accepted request, in milliseconds. */
  readonly ageMs: Quantiles
  /**
   * Accepted requests of the process with the most, and of the process with the fewest. All compared processes have the
   * same load and lived throughout.
   */
  readonly best: number
  readonly worst: number
}

export interface Quantiles {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface Loss {
  readonly logged: number
  /** Number of events that neither arrived nor were dropped, of processes that ended in an orderly way. */
  readonly lost: number
  readonly twice: number
  readonly dropped: number
}

/** The result of a run of the fleet, computed from the records of the service alone. */
export class Books {
  readonly arrivals: readonly Arrival[]
  readonly lives: readonly Life[]
  /** Times of accepted ingest requests, with the age of the oldest event of each, by process, in order. */
  readonly #accepted = new Map<string, { readonly atMs: number; readonly oldestAgeMs: number }[]>()

  constructor(arrivals: readonly Arrival[], lives: readonly Life[]) {
    this.arrivals = arrivals.toSorted((one, other) => one.atMs - other.atMs)
    this.lives = lives
    for (const { name } of lives) this.#accepted.set(name, [])
    for (const { process, kind, isAccepted, atMs, oldestAgeMs = 0 } of this.arrivals) {
      if (kind === 'ingest' && isAccepted) this.#accepted.get(process)?.push({ atMs, oldestAgeMs })
    }
  }

  /** Reads of the organization, including refused reads. */
  get reads(): number {
    return this.arrivals.filter(({ kind }) => kind === 'read').length
  }

  /** Time from the first request to the last, in milliseconds. */
  get durationMs(): number {
    return (this.arrivals.at(-1)?.atMs ?? 0) - (this.arrivals[0]?.atMs ?? 0)
  }

  figures(span: Span, equals: (life: Life) => boolean = () => true): SpanFigures {
    const within = this.arrivals.filter(({ atMs }) => isWithin(atMs, span))
    const taken = within.filter(({ isAccepted }) => isAccepted).length
    const refused = within.length - taken
    const served = this.lives
      .filter(life => equals(life) && livesThroughout(life, span))
      .map(({ name }) => this.#acceptedOf(name).filter(({ atMs }) => isWithin(atMs, span)).length)
    return {
      taken,
      refused,
      refusedPart: within.length === 0 ? 0 : refused / within.length,
      maxRefusedPerSecond: Math.max(0, ...this.perSecond(span).map(second => second.refused)),
      takenPerSecond: (taken / (span.toMs - span.fromMs)) * 1000,
      ...this.#longestWait(span),
      ageMs: quantiles(within.flatMap(({ oldestAgeMs }) => oldestAgeMs ?? [])),
      best: Math.max(0, ...served),
      worst: served.length === 0 ? 0 : Math.min(...served),
    }
  }

  /** Returns the ages of the oldest events of the requests of these processes that were accepted in the period. */
  ages(span: Span, which: (life: Life) => boolean): Quantiles {
    const accepted = this.lives.filter(which).flatMap(({ name }) => this.#acceptedOf(name))
    return quantiles(accepted.filter(({ atMs }) => isWithin(atMs, span)).map(({ oldestAgeMs }) => oldestAgeMs))
  }

  /** Returns for each second of the period: accepted requests, refused requests, and reads among both. */
  perSecond({ fromMs, toMs }: Span): { taken: number; refused: number; reads: number }[] {
    const seconds = Array.from({ length: Math.ceil((toMs - fromMs) / 1000) }, () => ({
      taken: 0,
      refused: 0,
      reads: 0,
    }))
    for (const { atMs, isAccepted, kind } of this.arrivals) {
      const second = seconds[Math.floor((atMs - fromMs) / 1000)]
      if (second === undefined) continue
      if (isAccepted) second.taken++
      else second.refused++
      if (kind === 'read') second.reads++
    }
    return seconds
  }

  /**
   * Returns the times from the start of each process that started in the period to its first accepted request, in
   * milliseconds. If the first event was logged later than the start, the time begins with that event. A process
   * without an accepted request waited until its end, or until the end of the period.
   */
  firstRequests(span: Span): Quantiles {
    const started = this.lives.filter(({ startedAtMs }) => isWithin(startedAtMs, span))
    return quantiles(
      started.map(({ name, startedAtMs, endedAtMs = span.toMs }) => {
        const first = this.#acceptedOf(name)[0]
        if (first === undefined) return Math.max(endedAtMs - startedAtMs, 0)
        return Math.min(first.atMs - startedAtMs, first.oldestAgeMs)
      }),
    )
  }

  /** Counts only processes that ended in an orderly way, because a killed process may have lost any event. */
  get loss(): Loss {
    const loss = { logged: 0, lost: 0, twice: 0, dropped: 0 }
    for (const { logged, dropped, distinct, twice } of this.lives) {
      loss.twice += twice
      if (logged === undefined) continue
      loss.logged += logged
      loss.dropped += dropped
      loss.lost += logged - dropped - distinct
    }
    return loss
  }

  #acceptedOf(name: string): readonly { readonly atMs: number; readonly oldestAgeMs: number }[] {
    return this.#accepted.get(name) ?? []
  }

  /** A wait before the period does not count, nor does a wait after the end of the process. */
  #longestWait(span: Span): { longestWaitMs: number; longestWaiting: string | undefined } {
    let longestWaitMs = 0
    let longestWaiting: string | undefined
    const heed = (name: string, sinceMs: number, untilMs: number): void => {
      const waitMs = Math.min(untilMs, span.toMs) - Math.max(sinceMs, span.fromMs)
      if (waitMs <= longestWaitMs) return
      longestWaitMs = waitMs
      longestWaiting = name
    }
    for (const { name, isFull, startedAtMs, endedAtMs = Number.POSITIVE_INFINITY } of this.lives) {
      let latestMs = startedAtMs
      for (const { atMs, oldestAgeMs } of this.#acceptedOf(name)) {
        if (atMs > endedAtMs) break
        heed(name, Math.max(latestMs, atMs - oldestAgeMs), atMs)
        latestMs = atMs
      }
      if (isFull) heed(name, latestMs, endedAtMs)
    }
    return { longestWaitMs, longestWaiting }
  }
}

export function quantiles(values: readonly number[]): Quantiles {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (part: number) => sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? 0
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

function isWithin(atMs: number, { fromMs, toMs }: Span): boolean {
  return atMs >= fromMs && atMs < toMs
}

function livesThroughout({ startedAtMs, endedAtMs = Number.POSITIVE_INFINITY }: Life, span: Span): boolean {
  return startedAtMs <= span.fromMs && endedAtMs >= span.toMs
}
