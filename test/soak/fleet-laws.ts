import type { Books, SpanFigures } from './fleet-books.ts'
import type { JudgedSpan } from './fleet-stage.ts'

/** What processes may be held to: a fleet that shares through Redis, with processes that come and go, or none at all. */
export type Held = 'fleet' | 'churn' | 'alone'

export type Laws = Readonly<Record<string, boolean>>

/** What a machine with other work to do may add to any time, in milliseconds. */
export const toleranceMs = 300

const maxWaitMs = 30_000

/** The laws for all processes that have more to send than they may. */
export function lawsOf(held: Held, figures: SpanFigures, limitPerSecond: number): Laws {
  const maxRefusedPart = held === 'alone' ? 0.1 : 0.01
  return {
    [`at most ${maxRefusedPart * 100} % refused`]: figures.refusedPart <= maxRefusedPart,
    'at least 90 % used': figures.takenPerSecond >= 0.9 * limitPerSecond,
    'no process waits longer than 30 s': figures.longestWaitMs <= maxWaitMs,
    ...(held === 'alone' && { 'no process is served five times as well as another': figures.best < 5 * figures.worst }),
  }
}

/** The laws on events, for every case. */
export function lawsOnEvents({ loss }: Books): Laws {
  return { 'nothing lost': loss.lost === 0, 'nothing twice': loss.twice === 0, 'nothing dropped': loss.dropped === 0 }
}

/**
 * The laws on calls to Redis, and on reads of the license, which one process makes for all.
 *
 * @param refreshMs after which the license is read again
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

/** Clients that connect make calls that are not the product's. */
function callsOf(held: Held, { scripts, reads }: NonNullable<JudgedSpan['redisPerSecond']>): number {
  return held === 'churn' ? scripts : Math.max(scripts, reads)
}
