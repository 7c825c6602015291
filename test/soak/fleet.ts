import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'
import type { Books } from './fleet-books.ts'
import { type FleetCase, percent, seconds } from './fleet-cases.ts'
import { lawsOnCalls, lawsOnEvents } from './fleet-laws.ts'
import { FleetStage, type JudgedSpan } from './fleet-stage.ts'

export interface Fleet {
  readonly seed: number
  /** Number of processes, unless the case needs a number of its own. */
  readonly processes: number
}

/**
 * Processes that share a license, with or without Redis: real processes, a real Redis, and a service that counts for
 * itself by its own clock.
 */
export async function fleet(one: FleetCase, scale: Fleet, progress: Progress = noProgress): Promise<Figures> {
  const { limitPerSecond, service = {}, redisClients = 'default', refreshMs = 3_600_000 } = one
  const processes = one.processes ?? scale.processes
  await using stage = await FleetStage.open(
    {
      seed: scale.seed,
      limitPerSecond,
      service,
      redisClients: redisClients === 'none' ? undefined : redisClients,
      refreshMs,
    },
    progress,
  )
  const played = await one.play(stage, processes)
  const { books, report } = await stage.close()
  const { laws, notes } = played.judge(books)
  const { lost, twice, dropped } = books.loss
  const onCalls = lawsOnCalls(played.held, played.span, books, refreshMs)
  const broken = brokenOf({ ...laws, ...onCalls, ...lawsOnEvents(books) })
  return {
    events: Object.values(report.numbers).reduce((sum, { distinct }) => sum + distinct, 0),
    lost,
    twice,
    requests: books.arrivals.length,
    notes: [
      `${processes} processes`,
      ...described(books, played.span, played.limitPerSecond),
      ...notes,
      `service ${Math.round(report.lateMs)} ms late`,
      ...(dropped > 0 ? [`${dropped} dropped`] : []),
      ...pendingOf(stage),
      ...warningsOf(stage),
      ...(broken.length > 0 ? [`seconds: ${secondsOf(books, played.span)}`] : []),
    ].join(', '),
    broken,
  }
}

function described(books: Books, span: JudgedSpan, limitPerSecond: number): string[] {
  const { refusedPart, takenPerSecond, longestWaitMs, longestWaiting, ageMs, best, worst } = books.figures(span)
  const { redisPerSecond, lateMs, busy } = span
  const { p50, p99, max } = ageMs
  const first = books.firstRequests({ fromMs: 0, toMs: span.toMs })
  return [
    `${percent(refusedPart)} refused`,
    `${percent(takenPerSecond / limitPerSecond)} used`,
    `longest wait ${seconds(longestWaitMs)} s (${longestWaiting})`,
    `first request after ${seconds(first.p50)}/${seconds(first.max)} s`,
    `events ${seconds(p50)}/${seconds(p99)}/${seconds(max)} s old`,
    `served ${best}/${worst}`,
    ...(redisPerSecond
      ? [`Redis ${redisPerSecond.scripts.toFixed(2)} scripts, ${redisPerSecond.reads.toFixed(2)} reads`]
      : []),
    `license read ${books.reads} times`,
    `loops ${Math.round(lateMs)} ms late, machine ${Math.round(busy * 100)} % busy`,
  ]
}

/** Returns the requests of each second: the accepted ones and, after a minus, the refused ones. */
function secondsOf(books: Books, span: JudgedSpan): string {
  return books
    .perSecond(span)
    .map(({ taken, refused }) => (refused === 0 ? `${taken}` : `${taken}-${refused}`))
    .join(' ')
}

function pendingOf({ children }: FleetStage): string[] {
  const pending = children.reduce((sum, { report }) => sum + (report?.pending ?? 0), 0)
  return pending === 0 ? [] : [`${pending} events still pending at the end`]
}

function warningsOf({ children }: FleetStage): string[] {
  const warned = children.filter(({ report }) => report !== undefined && report.warnings.length > 0)
  return warned.length === 0 ? [] : [`${warned.length} warned: “${warned[0]?.report?.warnings[0]?.slice(0, 120)}”`]
}
