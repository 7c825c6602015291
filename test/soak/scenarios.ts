import { availableParallelism } from 'node:os'
import { blockedLoop } from './blocked-loop.ts'
import { busyEnds } from './busy-ends.ts'
import { chaos } from './chaos.ts'
import { devPage } from './dev-page.ts'
import { devService } from './dev-service.ts'
import type { Figures, Progress } from './figures.ts'
import { fleet } from './fleet.ts'
import { fleetCases } from './fleet-cases.ts'
import { halfRefused } from './half-refused.ts'
import { hostileValues } from './hostile-values.ts'
import { killsWhileInheriting, killsWhileLogging, orphans } from './kills.ts'
import { movingClock } from './moving-clock.ts'
import { oneLicense } from './one-license.ts'
import { outage, troubles } from './outage.ts'
import { pipeKills } from './pipe-kills.ts'
import { ends, processEnds } from './process-ends.ts'
import { properties } from './properties.ts'
import { refusedToken } from './refused-token.ts'
import { type RetryAfter, retryAfter } from './retry-after.ts'

/** A scenario that takes a while: whole for `npm run soak`, and short for `--short`. at-length.test.ts runs some in short. */
export interface LongScenario {
  /**
   * Number in the list of scenarios, or a name: 'outage' lasts 60 seconds, 'chaos' is everything at once, 'fleet' is
   * processes that share a license, 'dev' is the service of `logferry dev`, 'pipe' is the
   * command of that name, and 'properties' tries more inputs for the properties of `npm test`, and simulates more
   * processes.
   */
  readonly number: number | 'outage' | 'chaos' | 'fleet' | 'dev' | 'pipe' | 'properties'
  readonly what: string
  /** Name of the case, if the scenario has several cases that are run by name. */
  readonly name?: string
  /** The small scale, in words. Without it, the scenario is long at any scale. */
  readonly inShort?: string
  short?(): Promise<Figures>
  /**
   * @param seed seed of the random choices, in place of the scenario's own
   * @param processes number of processes of a fleet
   */
  whole(progress: Progress, seed?: number, processes?: number): Promise<Figures>
}

const MiB = 1_048_576
const anHourMs = 3_600_000
const aMinuteMs = 60_000

const patience: readonly (readonly [what: string, scale: Omit<RetryAfter, 'seconds'>])[] = [
  ['429, seconds', { status: 429, form: 'seconds' }],
  ['503, a date, our clock an hour fast', { status: 503, form: { clockSkewMs: -anHourMs } }],
  ['503, a date, our clock an hour slow', { status: 503, form: { clockSkewMs: anHourMs } }],
]

const chaosSeeds = Array.from({ length: 10 }, (_, index) => index + 1)

export function chaosOf(seed: number): LongScenario {
  return {
    number: 'chaos',
    what: `processes that log, end and are killed while the service answers anything (seed ${seed}): exact books`,
    inShort: 'four processes',
    short: () => chaos({ seed, processes: 4, atOnce: 2, maxLifeMs: 1000, closeMs: 5000, isTimed: false }),
    whole: progress => {
      const atOnce = seed % 2 === 0 ? 1 : 2
      const isTimed = atOnce < availableParallelism()
      return chaos({ seed, processes: 20, atOnce, maxLifeMs: 6000, closeMs: 60_000, isTimed }, progress)
    },
  }
}

export const longScenarios: readonly LongScenario[] = [
  ...patience.map(
    ([what, scale]): LongScenario => ({
      number: 9,
      what: `Retry-After 120 (${what}): no request for as long, then all delivered`,
      inShort: '2 s',
      short: () => retryAfter({ ...scale, seconds: 2 }),
      whole: progress => retryAfter({ ...scale, seconds: 120 }, progress),
    }),
  ),
  ...([401, 403] as const).map(
    (status): LongScenario => ({
      number: 10,
      what: `${status} for ten minutes, then put right: few probes, nothing lost`,
      inShort: '3 s',
      short: () => refusedToken({ status, durationMs: 3000, perSecond: 1000 }),
      whole: progress => refusedToken({ status, durationMs: 10 * aMinuteMs, perSecond: 500 }, progress),
    }),
  ),
  {
    number: 5,
    what: '1,000 processes end by process.exit() while the service never reads and every core is busy: each ends',
    whole: progress => busyEnds(1000, progress),
  },
  {
    number: 'pipe',
    what: 'logferry pipe killed while it reads a million lines, with a spool: no line is missing that came out',
    inShort: '20,000 lines, 2 kills',
    short: () => pipeKills({ lines: 20_000, kills: 2 }),
    whole: progress => pipeKills({ lines: 1_000_000, kills: 40 }, progress),
  },
  {
    number: 12,
    what: 'half of the answers 503 at random: no request beyond the necessary ones',
    inShort: '20,000 events',
    short: () => halfRefused({ events: 20_000, perSecond: 5000, seed: 1 }),
    whole: progress => halfRefused({ events: 1_000_000, perSecond: 10_000, seed: 2 }, progress),
  },
  ...(Object.keys(ends) as (keyof typeof ends)[]).map(
    (end): LongScenario => ({
      number: 15,
      what: `100 fresh processes that log 1,000 events and end in that tick (${end})`,
      inShort: '4 processes',
      short: () => processEnds({ end, processes: 4, eventsEach: 1000, exitTimeoutMs: 20_000 }),
      whole: progress => processEnds({ end, processes: 100, eventsEach: 1000 }, progress),
    }),
  ),
  {
    number: 19,
    what: 'wall clock ± 1 day, a suspend of 60 s: no storm, no stall',
    inShort: 'a suspend of 1.5 s',
    short: () => movingClock({ perSecond: 500, stepMs: 100, suspendedMs: 1500 }),
    whole: progress => movingClock({ perSecond: 2000, stepMs: 5000, suspendedMs: 60_000 }, progress),
  },
  {
    number: 20,
    what: 'event loop blocked for 10 s, five times: no false timeouts',
    inShort: '1.5 s, twice',
    short: () => blockedLoop({ perSecond: 400, blockedMs: 3000, rounds: 2 }),
    whole: progress => blockedLoop({ perSecond: 1000, blockedMs: 10_000, rounds: 5 }, progress),
  },
  {
    number: 22,
    what: 'events from 1 byte to 5 MB, every hostile value: never throws, each arrives once',
    inShort: '300 events',
    short: () => hostileValues({ events: 300, seed: 1 }),
    whole: progress => hostileValues({ events: 20_000, seed: 2 }, progress),
  },
  {
    number: 26,
    what: '500 clients on one license of 100 requests/s: few 429, high utilization, none starves',
    inShort: '10 clients on 40 requests/s for 4 s',
    short: () => oneLicense({ clients: 10, requestsPerSecond: 40, seconds: 12, minUtilisation: 0.2 }),
    whole: progress =>
      oneLicense({ clients: 500, requestsPerSecond: 100, seconds: 240, minUtilisation: 0.85 }, progress),
  },
  {
    number: 'outage',
    what: 'the service down for 60 s at 5,000 events/s: nothing lost, 25 requests, drained within 30 s',
    inShort: '3 s at 2,000 events/s',
    short: () => outage({ ...shortOutage, maxRssGrowthBytes: 96 * MiB }),
    whole: progress =>
      outage(
        {
          perSecond: 5000,
          beforeMs: 10_000,
          outageMs: aMinuteMs,
          afterMs: 5000,
          troubles: ['refuses connections'],
          maxRequests: 25,
          maxRssGrowthBytes: 96 * MiB,
          drainedWithinMs: 30_000,
        },
        progress,
      ),
  },
  {
    number: 11,
    what: 'the service down for ten minutes at 5,000 events/s, in every way in turn: nothing lost, drained',
    inShort: '3 s at 2,000 events/s',
    short: () =>
      outage({ ...shortOutage, troubles: ['answers 503', 'closes connections'], maxRssGrowthBytes: 96 * MiB }),
    whole: progress =>
      outage(
        {
          perSecond: 5000,
          beforeMs: 10_000,
          outageMs: 10 * aMinuteMs,
          afterMs: 10_000,
          troubles,
          maxRequests: 250,
          maxRssGrowthBytes: 96 * MiB,
          drainedWithinMs: 2 * aMinuteMs,
        },
        progress,
      ),
  },
  {
    number: 13,
    what: "1,000 processes killed while they log with durability: 'disk': no event is missing whose log call returned",
    inShort: '4 processes',
    short: () => killsWhileLogging({ kills: 4, maxLifeMs: 150 }),
    whole: progress => killsWhileLogging({ kills: 1000, maxLifeMs: 250 }, progress),
  },
  {
    number: 14,
    what: '1,000 adopting processes killed while they adopt, read, deliver and remove the events of others: the same',
    inShort: '4 heirs',
    short: () => killsWhileInheriting({ kills: 4, maxLifeMs: 200 }),
    whole: progress => killsWhileInheriting({ kills: 1000, maxLifeMs: 300 }, progress),
  },
  {
    number: 23,
    what: 'eight processes on one spool, four killed: each orphan is adopted once',
    inShort: '3,000 events each',
    short: () => orphans({ eventsEach: 3000 }),
    whole: () => orphans({ eventsEach: 100_000 }),
  },
  {
    number: 'dev',
    what: 'logferry dev at 10,000 events/s for ten minutes, with an open page: all arrive, memory is bounded',
    inShort: '5,000 events/s for 3 s',
    short: () => devService({ perSecond: 5000, durationMs: 3000 }),
    whole: progress => devService({ perSecond: 10_000, durationMs: 10 * aMinuteMs, maxIngestMs: 150 }, progress),
  },
  {
    number: 'dev',
    what: 'the page of logferry dev at 10,000 events/s for a minute: stands still, answers keys at once, bounded memory',
    whole: progress => devPage({ perSecond: 10_000, durationMs: aMinuteMs, maxKeyMs: 100 }, progress),
  },
  {
    number: 'properties',
    what: '20,000 inputs for each property of npm test, simulations of 500 processes: every property holds',
    whole: () => properties(20_000),
  },
  ...chaosSeeds.map(chaosOf),
  ...fleetCases.map(
    (one): LongScenario => ({
      number: 'fleet',
      name: one.name,
      what: `${one.name}: ${one.what}`,
      whole: (progress, seed = 1, processes = 40) => fleet(one, { seed, processes }, progress),
    }),
  ),
]

const shortOutage = {
  perSecond: 2000,
  beforeMs: 1000,
  outageMs: 3000,
  afterMs: 300,
  troubles: ['refuses connections', 'is a black hole'],
  options: {
    requestTimeoutMs: 4000, // longer than a busy machine keeps the service from answering
    maxRetryDelayMs: 2000,
    maxBatchBytes: 65_536,
    maxBufferedBytes: 16 * 65_536,
  },
  maxRequests: 40,
  drainedWithinMs: 10_000,
} as const
