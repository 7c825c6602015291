import type { Books, SpanFigures } from './fleet-books.ts'
import type { JudgedSpan } from './fleet-stage.ts'

/**
 * The kind of processes, which decides their laws: a fleet that shares through Redis, the same with processes that come
 * and go, or processes that share nothing.
 */
export type Held = 'fleet' | 'churn' | 'alone'

export type Laws = Readonly<Record<string, boolean>>

/** Time that a busy machine may add to any measured time, in milliseconds. */
export const toleranceMs = 300

const maxWaitMs = 30_000

/** The laws for processes that always have more to send than the limit allows. */
export function lawsOf(held: Held, figures: SpanFigures, limitPerSecond: number): Laws {
  const maxRefusedPart = held === 'alone' ? 0.1 : 0.01
  return {
    [`at most ${maxRefusedPart * 100} % refused`]: figures.refusedPart <= maxRefusedPart,
    'at least 90 % used': figures.takenPerSecond >= 0.9 * limitPerSecond,
    'no process waits longer than 30 s': figures.longestWaitMs <= maxWaitMs,
    ...(held === 'alone' && { 'no process is served five times as well as another': figures.best < 5 * figures.worst }),
  }
}

/** The laws about events, for every case. */
export function lawsOnEvents({ loss }: Books): Laws {
  return { 'nothing lost': loss.lost === 0, 'nothing twice': loss.twice === 0, 'nothing dropped': loss.dropped === 0 }
}

/**
 * The laws about calls to Redis, and about reads of the license, which one process makes for all.
 *
 * @param refreshMs time after which the license is read again
 */
export function lawsOnCalls(held: Held, span: JudgedSpan, books: Books, refreshMs: number): Laws {
  if (held === 'alone') return {}
  const max = held === 'churn' ? 0.7 : 0.25
  const refreshes = books.durationMs / refreshMs
  return {
    ...(span.redisPerSecond && {
      [`at most ${max} calls to Redis per process and second`]: callsOf(held, span.redisPerSecond) <= max,
    }),
    'not every process reads the license': books.reads <= Math.max(books.lives.length / 4, 3) + 2 * refreshes,
  }
}

/** Clients make calls of their own when they connect. */
function callsOf(held: Held, { scripts, reads }: NonNullable<JudgedSpan['redisPerSecond']>): number {
  return held === 'churn' ? scripts : Math.max(scripts, reads)
}
