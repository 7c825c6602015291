import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultServer } from '../support/fault-server.ts'
import { until } from '../support/until.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'
import { Killable, numbersEach } from './killable.ts'

/** The service, and a directory for the spool. Both are removed at the end. */
async function stage() {
  const directory = await mkdtemp(join(tmpdir(), 'logferry-kills-'))
  let share503 = 0
  const server = await startFaultServer(
    request => {
      if (!request.isWhole) return
      if (Math.random() < share503) request.answer('503 Service Unavailable')
      else request.take()
    },
    { keepsRequests: false },
  )
  return {
    directory,
    server,
    /** Sets the share of the requests that are answered with 503 from now on. */
    refuse(share: number): void {
      share503 = share
    },
    /** Resolves when the service has answered what killed processes had sent: it reads requests in their order. */
    async readAll(): Promise<void> {
      for (let requests = 0; requests < 2; requests++) await (await fetch(server.url)).arrayBuffer()
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await rm(directory, { recursive: true })
    },
  }
}

/** Returns how the events have arrived whose log calls are known to have returned. */
function arrivals(numbers: readonly number[], processes: readonly Killable[]) {
  // One bit for each number, because a Set cannot hold so many.
  const seen = new Map(processes.map(({ index }) => [index, new Uint8Array(numbersEach / 8)]))
  let twice = 0
  for (const number of numbers) {
    const bits = seen.get(Math.floor(number / numbersEach)) as Uint8Array
    const n = number % numbersEach
    if (has(bits, n)) twice++
    bits[n >> 3] = (bits[n >> 3] as number) | (1 << (n & 7))
  }
  let events = 0
  let lost = 0
  for (const { index, logged } of processes) {
    events += logged
    const bits = seen.get(index) as Uint8Array
    for (let n = 0; n < logged; n++) if (!has(bits, n)) lost++
  }
  return { events, lost, twice }
}

function has(bits: Uint8Array, n: number): boolean {
  return ((bits[n >> 3] as number) & (1 << (n & 7))) !== 0
}

export interface Kills {
  readonly kills: number
  /** Maximum life of a process. */
  readonly maxLifeMs: number
}

/** Scenario 13: processes are killed at random while they log and deliver. The next processes deliver what is left. */
export async function killsWhileLogging(
  { kills, maxLifeMs }: Kills,
  progress: Progress = noProgress,
): Promise<Figures> {
  await using on = await stage()
  on.refuse(0.3)
  const { directory, server } = on
  const processes: Killable[] = []
  for (let index = 0; index < kills; index++) {
    const one = new Killable({ url: server.url, directory, index, most: numbersEach, maxBurst: 3000 })
    processes.push(one)
    await one.started()
    await sleep(Math.random() * maxLifeMs)
    await one.kill()
    progress(`${index + 1} of ${kills} killed, ${server.numbers.length} events arrived`)
  }
  return await conclude(on, processes, 'killed while they logged')
}

/** Scenario 14: processes are killed while they adopt, read, deliver and remove the events of other processes. */
export async function killsWhileInheriting(
  { kills, maxLifeMs }: Kills,
  progress: Progress = noProgress,
): Promise<Figures> {
  await using on = await stage()
  const { directory, server } = on
  const loggers: Killable[] = []
  for (let heirs = 0; heirs < kills; heirs++) {
    if ((await readdir(directory)).length === 0) loggers.push(...(await leaveEvents(on, loggers.length)))
    const heir = new Killable({ url: server.url, directory, index: 0, most: 0, maxBurst: 1 })
    await heir.started()
    await sleep(Math.random() ** 2 * maxLifeMs) // many early, when the process has just begun to adopt
    await heir.kill()
    progress(`${heirs + 1} of ${kills} adopters killed, ${server.numbers.length} events arrived`)
  }
  return await conclude(on, loggers, `${kills} adopters of ${loggers.length} processes killed`)
}

/** Makes three processes log while the service is down, and kills them. */
async function leaveEvents(on: Awaited<ReturnType<typeof stage>>, firstIndex: number): Promise<Killable[]> {
  const { directory, server } = on
  on.refuse(1)
  const most = 20_000
  const loggers = [0, 1, 2].map(index => {
    return new Killable({ url: server.url, directory, index: firstIndex + index, most, maxBurst: 3000 })
  })
  await until(() => loggers.every(({ logged }) => logged === most), 'all is logged', 60_000)
  await Promise.all(loggers.map(one => one.kill()))
  on.refuse(0.3)
  return loggers
}

/**
 * Scenario 23: eight processes share a spool, and four are killed. The others deliver the events of these four, once.
 */
export async function orphans({ eventsEach }: { readonly eventsEach: number }): Promise<Figures> {
  await using on = await stage()
  const { directory, server } = on
  on.refuse(1)
  const processes = Array.from({ length: 8 }, (_, index) => {
    return new Killable({ url: server.url, directory, index, most: eventsEach, maxBurst: 1000 })
  })
  await until(() => processes.every(({ logged }) => logged === eventsEach), 'all is logged', 60_000)
  await Promise.all(processes.slice(0, 4).map(one => one.kill()))
  await on.readAll()
  on.refuse(0)
  await Promise.all(processes.slice(4).map(one => one.end()))
  const { events, lost, twice } = arrivals(server.numbers, processes)
  const left = await readdir(directory)
  return {
    events,
    lost,
    twice,
    requests: server.requestCount,
    notes: 'four of eight killed',
    broken: brokenOf({
      'all delivered': lost === 0,
      'each orphan adopted once': twice === 0, // nothing had been delivered before
      'nothing is left': left.length === 0,
    }),
  }
}

async function conclude(
  { directory, server, refuse }: Awaited<ReturnType<typeof stage>>,
  processes: readonly Killable[],
  how: string,
): Promise<Figures> {
  refuse(0)
  const last = new Killable({ url: server.url, directory, index: processes.length, most: 0, maxBurst: 1 })
  await last.closed()
  const { events, lost, twice } = arrivals(server.numbers, processes)
  const left = await readdir(directory)
  return {
    events,
    lost,
    twice,
    requests: server.requestCount,
    notes: `${how}; ${twice} arrived again, because their answers were lost`,
    broken: brokenOf({
      'no event is missing whose log call returned': lost === 0,
      'the last process delivers all remaining events': last.result === '{"complete":true,"pending":0}',
      'nothing is left': left.length === 0,
    }),
  }
}
