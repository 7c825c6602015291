import type { Arrival } from './fleet-arrivals.ts'

/** A time that is looked at by itself, in milliseconds since the epoch. */
export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** The life of one process, and what it says of its events. */
export interface Life {
  readonly name: string
  /** Has something to send at every moment of its life. */
  readonly isFull: boolean
  /** When it began to log, in milliseconds since the epoch. */
  readonly startedAtMs: number
  /** When it was killed or told to end; `undefined` if neither. */
  readonly endedAtMs: number | undefined
  /** What it logged and dropped; `undefined` if it was killed, so that nothing is known. */
  readonly logged: number | undefined
  readonly dropped: number
  /** Numbers that the service has, and arrivals beyond the first of each. */
  readonly distinct: number
  readonly twice: number
}

/** What came of one span, as the service saw it. */
export interface SpanFigures {
  /** Requests that were taken, reads of the organization included, and those that were refused. */
  readonly taken: number
  readonly refused: number
  /** Of all that were made, from 0 to 1. */
  readonly refusedPart: number
  /** Most requests refused in one second of the clock. */
  readonly maxRefusedPerSecond: number
  readonly takenPerSecond: number
  /** Longest time that a process had something to send and no request of it was taken, in milliseconds. */
  readonly longestWaitMs: number
  readonly longestWaiting: string | undefined
  /** Ages of the oldest event of each request that was taken, in milliseconds. */
  readonly ageMs: Quantiles
  /** Requests taken of the process served best and of the one served worst, of equals that lived throughout. */
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
  /** Neither arrived nor dropped, of processes that ended well. */
  readonly lost: number
  readonly twice: number
  readonly dropped: number
}

/** What a run of the fleet has come to, worked out from the service's records alone. */
export class Books {
  readonly arrivals: readonly Arrival[]
  readonly lives: readonly Life[]
  /** Times of accepted ingest requests with the age of each one's oldest event, by process, in order. */
  readonly #accepted = new Map<string, { readonly atMs: number; readonly oldestAgeMs: number }[]>()

  constructor(arrivals: readonly Arrival[], lives: readonly Life[]) {
    this.arrivals = arrivals.toSorted((one, other) => one.atMs - other.atMs)
    this.lives = lives
    for (const { name } of lives) this.#accepted.set(name, [])
    for (const { process, kind, isAccepted, atMs, oldestAgeMs = 0 } of this.arrivals) {
      if (kind === 'ingest' && isAccepted) this.#accepted.get(process)?.push({ atMs, oldestAgeMs })
    }
  }

  /** Reads of the organization, refused ones included. */
  get reads(): number {
    return this.arrivals.filter(({ kind }) => kind === 'read').length
  }

  /** From the first request to the last, in milliseconds. */
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

  /** Ages of the oldest events of requests of these processes that were taken within the span. */
  ages(span: Span, which: (life: Life) => boolean): Quantiles {
    const accepted = this.lives.filter(which).flatMap(({ name }) => this.#acceptedOf(name))
    return quantiles(accepted.filter(({ atMs }) => isWithin(atMs, span)).map(({ oldestAgeMs }) => oldestAgeMs))
  }

  /** Each second of the span: requests taken, refused, and reads among both. */
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
   * Times from the start of each process that started within the span, or from its first event if that was later, to its
   * first request that was taken, in milliseconds. A process that got none waited until its end, or until the span's.
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

  /** A process that was killed may have lost anything: only those that ended well are counted. */
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

  /** What was waited before the span is not counted, nor is what a process waited after its end. */
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
