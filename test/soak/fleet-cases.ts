import { setTimeout as sleep } from 'node:timers/promises'
import type { Books, Span } from './fleet-books.ts'
import type { FleetChild } from './fleet-child.ts'
import { type Held, type Laws, lawsOf, toleranceMs } from './fleet-laws.ts'
import type { ServiceSettings } from './fleet-service.ts'
import type { FleetStage, JudgedSpan, Troupe } from './fleet-stage.ts'

export interface FleetCase {
  readonly name: string
  readonly what: string
  /** Limit of the license. It is in force and in the headers of answers, unless `service` says otherwise. */
  readonly limitPerSecond: number
  readonly service?: Partial<ServiceSettings>
  /** Set-up of the clients of Redis; `'none'` for processes that do not share. */
  readonly redisClients?: 'default' | 'fast' | 'none'
  /** Time after which the license is read again, in milliseconds; an hour by default. */
  readonly refreshMs?: number
  /** Number of processes, whatever the command line asks for. */
  readonly processes?: number
  play(stage: FleetStage, processes: number): Promise<Played>
}

/** The records of a case, and its judgment once everything has arrived. */
export interface Played {
  readonly held: Held
  readonly span: JudgedSpan
  readonly limitPerSecond: number
  judge(books: Books): { readonly laws: Laws; readonly notes: readonly string[] }
}

/** Always more to send than the share of the process, in requests of few events. */
const full: Troupe = { demand: { kind: 'full', pendingEvents: 10 }, options: { maxBatchEvents: 1, maxBatchAgeMs: 50 } }
/** The same, without an agreement of the processes on this machine. */
const apart: Troupe = { ...full, options: { ...full.options, rateDirectory: false } }
/** Enough for 100 requests a second. */
const fast: Troupe = { ...full, demand: { kind: 'full', pendingEvents: 50 } }
const light: Troupe = { demand: { kind: 'now and then', minMs: 500, maxMs: 3000 } }
const lighter: Troupe = { demand: { kind: 'now and then', minMs: 2000, maxMs: 6000 } }

const warmUpSeconds = 20
/** Processes that share nothing take longer to find their shares. */
const aloneWarmUpSeconds = 60
const judgedSeconds = 40
const startSeconds = 5
/** Maximum time from the start to the first request, in milliseconds. */
const maxFirstMs = 3000

async function warmUp(stage: FleetStage, count: number, troupe: Troupe, seconds = warmUpSeconds): Promise<void> {
  await stage.begin(await stage.load(count, troupe), startSeconds * 1000)
  await stage.pass(seconds, 'warming up')
}

/** Judges by the laws for processes with more to send than the limit allows, and by the laws of the case. */
function held(
  by: Held,
  span: JudgedSpan,
  limitPerSecond: number,
  also: (books: Books) => { readonly laws?: Laws; readonly notes?: readonly string[] } = () => ({}),
): Played {
  return {
    held: by,
    span,
    limitPerSecond,
    judge: books => {
      const { laws, notes = [] } = also(books)
      return { laws: { ...lawsOf(by, books.figures(span), limitPerSecond), ...laws }, notes }
    },
  }
}

function fullDemand(name: string, limitPerSecond: number, more: Partial<FleetCase> = {}, troupe = full): FleetCase {
  return {
    name,
    what: `full demand, limit ${limitPerSecond}`,
    limitPerSecond,
    play: async (stage, processes) => {
      await warmUp(stage, processes, troupe)
      return held('fleet', await stage.judge(judgedSeconds), limitPerSecond)
    },
    ...more,
  }
}

function alone(name: string, more: Partial<FleetCase> & { readonly what: string }, troupe = full): FleetCase {
  const limitPerSecond = more.limitPerSecond ?? 40
  return {
    name,
    limitPerSecond,
    redisClients: 'none',
    play: async (stage, processes) => {
      await warmUp(stage, processes, troupe, aloneWarmUpSeconds)
      return held('alone', await stage.judge(60), limitPerSecond)
    },
    ...more,
  }
}

interface Replacement {
  readonly everyMs: number
  /**
   * `'by age'`: the first process to begin is the first to end, and each ends once. `'by lot'`: the choice is random.
   */
  readonly order: 'by lot' | 'by age'
  /** Processes that end by SIGTERM and a close: none, every other one, or all. The others are killed. */
  readonly closed: 'none' | 'every other' | 'all'
  /** Returns the number of processes to replace, from the number of all processes. */
  readonly count: (processes: number) => number
}

/** Processes end, and a loaded process replaces each of them at once. */
function churn(name: string, what: string, { everyMs, order, closed, count }: Replacement): FleetCase {
  return {
    name,
    what: `full demand, limit 40, ${what}`,
    limitPerSecond: 40,
    play: async (stage, processes) => {
      const spares = await stage.load(Math.floor(count(processes)), full)
      await warmUp(stage, processes, full)
      const closes: Promise<void>[] = []
      const replaceOne = async (spare: FleetChild, index: number): Promise<void> => {
        const { working } = stage
        const victim = working[order === 'by age' ? 0 : Math.floor(stage.random() * working.length)] as FleetChild
        if (closed === 'all' || (closed === 'every other' && index % 2 === 1)) closes.push(victim.end('SIGTERM'))
        else victim.kill()
        await spare.go()
      }
      const span = await stage.judge(judgedSeconds, async () => {
        const fromMs = Date.now()
        for (const [index, spare] of spares.entries()) {
          await sleep(Math.max(fromMs + (index + 0.5) * everyMs - Date.now(), 0))
          await replaceOne(spare, index)
        }
      })
      await Promise.all(closes)
      return held('churn', span, 40, books => ({ notes: [newcomers(books, span)] }))
    },
  }
}

/**
 * The limit changes while all processes have more to send. The time until they know the new limit is reported, not
 * judged.
 */
function changed(name: string, from: number, to: number, where: 'headers' | 'license'): FleetCase {
  const learnSeconds = where === 'headers' ? 10 : 15
  const inForce = (perSecond: number) => ({ enforcedPerSecond: perSecond, headerPerSecond: perSecond })
  return {
    name,
    what: `full demand, the limit goes ${from} → ${to} in the ${where === 'headers' ? 'headers only' : 'license too'}`,
    limitPerSecond: where === 'headers' ? Math.max(from, to) : from,
    service: inForce(from),
    ...(where === 'license' && { refreshMs: 10_000 }),
    play: async (stage, processes) => {
      await warmUp(stage, processes, full)
      await stage.service.change({ ...inForce(to), ...(where === 'license' && { licensePerSecond: to }) })
      const learning = await stage.watch(learnSeconds)
      const span = await stage.judge(judgedSeconds)
      return held('fleet', span, to, books => ({ notes: [`while it is learned ${brief(books, learning, to)}`] }))
    },
  }
}

/** Half of the event loops are blocked again and again. */
function laggy(name: string, limitPerSecond: number, settings: Partial<FleetCase> = {}): FleetCase {
  const isAlone = settings.redisClients === 'none'
  const blocked = 'half of the event loops blocked for 100 to 400 ms every second'
  return {
    name,
    what: `full demand, limit ${limitPerSecond}, ${blocked}${isAlone ? ', no Redis' : ''}`,
    limitPerSecond,
    ...settings,
    play: async (stage, processes) => {
      const half = Math.floor(processes / 2)
      const all = [
        ...(await stage.load(half, { ...full, blocks: { minMs: 100, maxMs: 400 } })),
        ...(await stage.load(processes - half, full)),
      ]
      await stage.begin(all, startSeconds * 1000)
      await stage.pass(warmUpSeconds, 'warming up')
      return held(isAlone ? 'alone' : 'fleet', await stage.judge(judgedSeconds), limitPerSecond)
    },
  }
}

/** All processes are killed, and as many start some time later. */
function restarted(name: string, pauseSeconds: number): FleetCase {
  return {
    name,
    what: `full demand, limit 40, all processes killed, as many started ${pauseSeconds} s later`,
    limitPerSecond: 40,
    play: async (stage, processes) => {
      const next = await stage.load(processes, full)
      await warmUp(stage, processes, full)
      for (const child of stage.working) child.kill()
      await sleep(pauseSeconds * 1000)
      const fromMs = Date.now()
      await stage.begin(next, 1000)
      const starting = { ...(await stage.watch(5)), fromMs }
      const span = await stage.judge(judgedSeconds)
      return held('churn', span, 40, books => ({ notes: [newcomers(books, starting)] }))
    },
  }
}

/** The limit falls for processes without Redis, and nothing but 429s tells that. */
const loweredUnsaid: FleetCase = {
  name: 'no-redis-lowered',
  what: 'full demand, the limit goes 40 → 10, which only 429s tell; no Redis',
  limitPerSecond: 40,
  service: { headerPerSecond: undefined },
  redisClients: 'none',
  play: async (stage, processes) => {
    await warmUp(stage, processes, full, aloneWarmUpSeconds)
    await stage.service.change({ enforcedPerSecond: 10 })
    const learning = await stage.watch(20)
    const span = await stage.judge(60)
    return held('alone', span, 10, books => ({ notes: [`while it is learned ${brief(books, learning, 10)}`] }))
  },
}

/** Redis goes away, and comes back empty. */
function outage(clients: 'default' | 'fast', how: 'stopped' | 'killed', limitPerSecond = 40): FleetCase {
  return {
    name: `outage-${clients}-${how}${limitPerSecond === 40 ? '' : `-${limitPerSecond}`}`,
    what: `full demand, limit ${limitPerSecond}, Redis ${how} for 20 s, then empty; clients ${clients === 'fast' ? 'that fail fast' : 'with defaults'}`,
    limitPerSecond,
    redisClients: clients,
    play: async (stage, processes) => {
      await warmUp(stage, processes, full)
      const before = await stage.judge(10)
      if (how === 'stopped') stage.redis?.stop()
      else await stage.redis?.kill()
      const meanwhile = await stage.watch(20)
      if (how === 'stopped') await stage.redis?.kill()
      await stage.redis?.startEmpty()
      const after = await stage.judge(30)
      const span = { ...after, fromMs: before.fromMs, redisPerSecond: before.redisPerSecond }
      return held('fleet', span, limitPerSecond, books => {
        const spans = { before, meanwhile, after }
        return {
          laws: { 'no burst of 429': books.figures(span).maxRefusedPerSecond <= 10 },
          notes: Object.entries(spans).map(([when, one]) => `${when} ${brief(books, one, limitPerSecond)}`),
        }
      })
    },
  }
}

/** All processes start within a second. With `warmsUp`, their start takes as little of a processor as on a large machine. */
function started(name: string, troupe: Troupe): FleetCase {
  return {
    name,
    what: `all start within a second, full demand, limit 40${troupe.warmsUp ? ', their code is warm' : ''}`,
    limitPerSecond: 40,
    play: async (stage, processes) => {
      const all = await stage.load(processes, troupe)
      await stage.pass(2, 'resting')
      const fromMs = Date.now()
      await stage.begin(all, 1000)
      const starting = { ...(await stage.watch(10)), fromMs }
      const span = await stage.judge(judgedSeconds)
      return held('fleet', span, 40, books => ({
        laws: {
          'first request within 3 s': books.firstRequests(starting).max <= maxFirstMs + toleranceMs,
          'no burst of 429': books.figures(starting).maxRefusedPerSecond <= 10,
        },
        notes: [`at first ${brief(books, starting, 40)}`],
      }))
    },
  }
}

/** All processes load, connect and begin at the same time, as those of a machine that has started. */
const startCold: FleetCase = {
  name: 'start-cold',
  what: 'all load and start at once, full demand, limit 40',
  limitPerSecond: 40,
  play: async (stage, processes) => {
    const fromMs = Date.now()
    await stage.start(processes, full)
    const starting = { ...(await stage.watch(20)), fromMs }
    const span = await stage.judge(judgedSeconds)
    return held('fleet', span, 40, books => ({
      laws: { 'at most 1 % refused at first': books.figures(starting).refusedPart <= 0.01 },
      notes: [`at first ${brief(books, starting, 40)}`],
    }))
  },
}

/** The same while Redis is away: the processes agree on their rates as without Redis. */
function startAway(limitPerSecond: number): FleetCase {
  return {
    name: `start-away-${limitPerSecond}`,
    what: `all load and start at once while Redis is away, full demand, limit ${limitPerSecond}`,
    limitPerSecond,
    play: async (stage, processes) => {
      await stage.redis?.kill()
      await stage.start(processes, full)
      await stage.pass(30, 'warming up')
      const away = await stage.watch(judgedSeconds)
      await stage.redis?.startEmpty()
      const after = await stage.judge(10)
      return held('alone', { ...after, ...away, redisPerSecond: undefined }, limitPerSecond)
    },
  }
}

/** A quarter more of processes start at the same time. */
const joiningAtOnce: FleetCase = {
  name: 'joining-at-once',
  what: 'full demand, limit 40; a quarter more join at once',
  limitPerSecond: 40,
  play: async (stage, processes) => {
    const joiners = await stage.load(Math.ceil(processes / 4), full)
    await warmUp(stage, processes, full)
    const span = await stage.judge(judgedSeconds, async () => {
      await sleep(5000)
      await Promise.all(joiners.map(newcomer => newcomer.go()))
    })
    return held('fleet', span, 40, books => ({
      laws: { 'first request within 3 s': books.firstRequests(span).max <= maxFirstMs + toleranceMs },
      notes: [newcomers(books, span)],
    }))
  },
}

function joining(limitPerSecond: number): FleetCase {
  return {
    name: `joining-${limitPerSecond}`,
    what: `20 at full demand, limit ${limitPerSecond}; five more join, one after the other`,
    limitPerSecond,
    processes: 20,
    play: async (stage, processes) => {
      const joiners = await stage.load(5, full)
      await warmUp(stage, processes, full)
      const span = await stage.judge(judgedSeconds, async () => {
        for (const newcomer of joiners) {
          await sleep((judgedSeconds * 1000) / (joiners.length + 1) - 500 * stage.random())
          await newcomer.go()
        }
      })
      return held('fleet', span, limitPerSecond, books => ({
        laws: {
          'first request within 3 s': books.firstRequests(span).max <= maxFirstMs + toleranceMs,
        },
        notes: [newcomers(books, span)],
      }))
    },
  }
}

/** The service refuses everything for a while. The load must be back soon afterwards. */
function refusal(name: string, by: 'fleet' | 'alone'): FleetCase {
  return {
    name,
    what: `full demand, limit 40, 429 to everything for 15 s${by === 'alone' ? '; no Redis' : ''}`,
    limitPerSecond: 40,
    redisClients: by === 'alone' ? 'none' : 'default',
    play: async (stage, processes) => {
      await warmUp(stage, processes, full, by === 'alone' ? aloneWarmUpSeconds : warmUpSeconds)
      const fromMs = await refuseAll(stage)
      const back = await stage.watch(10)
      const span = await stage.judge(judgedSeconds)
      return held(by, span, 40, books => ({
        notes: [backAfter(books, { fromMs, toMs: span.toMs }, 40), `until then ${brief(books, back, 40)}`],
      }))
    },
  }
}

/**
 * The same for two processes that read the license every second. At a limit of 2, these reads alone would use it up.
 */
function refusalWithReads(limitPerSecond: 2 | 40): FleetCase {
  const isFull = limitPerSecond === 40
  return {
    name: `429-reads-${limitPerSecond}`,
    what: `two processes${isFull ? ' at full demand' : ''} that read the license every second, limit ${limitPerSecond}, 429 to everything for 15 s; no Redis`,
    limitPerSecond,
    redisClients: 'none',
    refreshMs: 1000,
    processes: 2,
    play: async (stage, processes) => {
      await warmUp(stage, processes, isFull ? fast : { demand: { kind: 'now and then', minMs: 300, maxMs: 700 } })
      const fromMs = await refuseAll(stage)
      await stage.watch(10)
      const span = await stage.judge(judgedSeconds)
      const also = (books: Books) => ({ notes: [backAfter(books, { fromMs, toMs: span.toMs }, limitPerSecond)] })
      if (isFull) return held('alone', span, limitPerSecond, also)
      return {
        held: 'alone',
        span,
        limitPerSecond,
        judge: books => {
          const { refusedPart, ageMs } = books.figures(span)
          const laws = {
            'at most 10 % refused': refusedPart <= 0.1,
            'no event older than 5 s from the tenth second on': ageMs.max <= 5000 + toleranceMs,
          }
          return { laws, ...also(books) }
        },
      }
    },
  }
}

/** Refuses everything for 15 s. Returns the time of the end. */
async function refuseAll(stage: FleetStage): Promise<number> {
  await stage.service.change({ isRefusingAll: true })
  await stage.pass(14.5, 'all refused')
  await stage.service.change({ isRefusingAll: false })
  return Math.floor(Date.now() / 1000) * 1000
}

export const fleetCases: readonly FleetCase[] = [
  {
    name: 'light',
    what: 'an event every 0.5 to 3 s, limit 40',
    limitPerSecond: 40,
    play: async (stage, processes) => {
      await warmUp(stage, processes, light)
      const span = await stage.judge(judgedSeconds)
      const maxAgeMs = (processes / 40) * 1000 + 1000 + toleranceMs
      return {
        held: 'fleet',
        span,
        limitPerSecond: 40,
        judge: books => {
          const { refusedPart, ageMs } = books.figures(span)
          const laws = {
            'at most 1 % refused': refusedPart <= 0.01,
            'no event older than a slot and a second': ageMs.max <= maxAgeMs,
          }
          return { laws, notes: [] }
        },
      }
    },
  },
  fullDemand('full-5', 5),
  fullDemand('full-40', 40),
  fullDemand('full-40-bare', 40, {
    what: 'full demand, limit 40, no rate-limit headers',
    service: { headerPerSecond: undefined },
  }),
  fullDemand('full-1000', 1000, { processes: 10 }, fast),
  {
    name: 'unequal',
    what: 'one in eight at full demand, the others an event every 2 to 6 s, limit 40',
    limitPerSecond: 40,
    play: async (stage, processes) => {
      const heavy = Math.max(Math.round(processes / 8), 1)
      const all = [...(await stage.load(heavy, full)), ...(await stage.load(processes - heavy, lighter))]
      await stage.begin(all, startSeconds * 1000)
      await stage.pass(warmUpSeconds, 'warming up')
      const span = await stage.judge(judgedSeconds)
      return held('fleet', span, 40, books => {
        const { best, worst } = books.figures(span, ({ isFull }) => isFull)
        const { p99, max } = books.ages(span, ({ isFull }) => !isFull)
        return {
          laws: { '99 of 100 events of light ones wait for at most 4 s': p99 <= 4000 + toleranceMs },
          notes: [`heavy ones served ${best}/${worst}`, `events of light ones ${seconds(p99)}/${seconds(max)} s old`],
        }
      })
    },
  },
  churn('churn', 'a process killed and replaced every 0.75 s', {
    everyMs: 750,
    order: 'by lot',
    closed: 'none',
    count: () => (judgedSeconds * 1000) / 750,
  }),
  churn('churn-slow', 'a process killed or closed and replaced every 5 s', {
    everyMs: 5000,
    order: 'by lot',
    closed: 'every other',
    count: () => (judgedSeconds * 1000) / 5000,
  }),
  churn('churn-deploy', 'all processes closed and replaced, one every 0.25 s', {
    everyMs: 250,
    order: 'by age',
    closed: 'all',
    count: processes => processes,
  }),
  changed('lowered-headers', 40, 10, 'headers'),
  changed('lowered-license', 40, 10, 'license'),
  changed('raised-headers', 10, 40, 'headers'),
  changed('raised-license', 10, 40, 'license'),
  outage('default', 'killed'),
  outage('default', 'stopped'),
  outage('fast', 'killed'),
  outage('fast', 'stopped'),
  outage('fast', 'killed', 10),
  started('start', full),
  started('start-warm', { ...full, warmsUp: true }),
  startCold,
  startAway(40),
  startAway(5),
  joining(5),
  joining(40),
  joiningAtOnce,
  restarted('restart', 4),
  restarted('restart-at-once', 0),
  laggy('laggy', 40),
  laggy('laggy-5', 5),
  laggy('laggy-few', 40, { processes: 6 }),
  laggy('no-redis-laggy', 40, { processes: 6, redisClients: 'none' }),
  refusal('429-fleet', 'fleet'),
  refusal('429-alone', 'alone'),
  refusalWithReads(2),
  refusalWithReads(40),
  alone('no-redis', { what: 'full demand, limit 40, no Redis' }),
  alone('no-redis-bare', {
    what: 'full demand, limit 40, no Redis, no rate-limit headers',
    service: { headerPerSecond: undefined },
  }),
  loweredUnsaid,
  alone('no-redis-5', { what: 'full demand, limit 5, no Redis', limitPerSecond: 5 }),
  alone('no-redis-1000', { what: 'full demand, limit 1,000, no Redis', limitPerSecond: 1000, processes: 10 }, fast),
  alone('apart', { what: 'full demand, limit 40, no Redis, as on 40 machines' }, apart),
  alone(
    'apart-bare',
    {
      what: 'full demand, limit 40, no Redis, no rate-limit headers, as on 40 machines',
      service: { headerPerSecond: undefined },
    },
    apart,
  ),
  {
    name: 'slow-one',
    what: 'one process, 20,000 small events/s, limit 1',
    limitPerSecond: 1,
    processes: 1,
    play: async (stage, processes) => {
      await warmUp(stage, processes, { demand: { kind: 'steady', eventsPerSecond: 20_000 } })
      return held('fleet', await stage.judge(judgedSeconds), 1)
    },
  },
]

function brief(books: Books, span: Span, limitPerSecond: number): string {
  const { refused, takenPerSecond } = books.figures(span)
  const ofSeconds = Math.round((span.toMs - span.fromMs) / 1000)
  return `${percent(takenPerSecond / limitPerSecond)} used, ${refused} refused in ${ofSeconds} s`
}

function newcomers(books: Books, span: Span): string {
  const { p50, max } = books.firstRequests(span)
  return `newcomers' first request after ${seconds(p50)}/${seconds(max)} s`
}

/** Returns the time at which five seconds in a row first reached nine tenths of the limit. */
function backAfter(books: Books, span: Span, limitPerSecond: number): string {
  const taken = books.perSecond(span).map(second => second.taken)
  const isBack = (index: number) => {
    const five = taken.slice(index, index + 5)
    return five.length === 5 && five.reduce((sum, one) => sum + one, 0) >= 5 * 0.9 * limitPerSecond
  }
  const index = taken.findIndex((_, second) => isBack(second))
  return index === -1 ? 'not back' : `back after ${index} s`
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`
}

export function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
