import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultServer } from '../support/fault-server.ts'
import { randomFrom } from '../support/random.ts'
import { surroundings } from '../support/surroundings.ts'
import { refusedAlone, type Treatment, troubles, well } from './chaos-answers.ts'
import {
  type ChaosJob,
  type ChaosMemory,
  type ChaosReport,
  type ChaosShipper,
  isPoison,
  numbersEach,
} from './chaos-report.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

export interface Chaos {
  readonly seed: number
  /** Number of processes. One in three is killed. */
  readonly processes: number
  /** Number of processes that run at the same time. */
  readonly atOnce: number
  /** Maximum life of a process. */
  readonly maxLifeMs: number
  /** Maximum time for delivery at the end of a process. */
  readonly closeMs: number
  /** True if times are compared with their bounds. Each process, and the service, then needs a processor for itself. */
  readonly isTimed: boolean
}

const MiB = 1_048_576
/** Maximum memory of a process besides the memory for events, and besides what Node takes before the first shipper. */
const maxOtherBytes = 150 * MiB
/**
 * V8 lets the space for young objects grow to 128 MiB in any busy process, however few objects survive. With this
 * option, the memory of the process tells what the shippers hold. 16 MiB is the default of Node 22.
 */
const youngSpace = '--max-semi-space-size=16'
/** The number of times after which an event counts as refused for its own sake, if others are accepted meanwhile. */
const refusalsUntilDrop = 3
const isPoisoned = (line: string): boolean => line.includes('"poison":true')

/** Everything at once: answers of every kind, processes that end in every way, and exact books afterwards. */
export async function chaos(scale: Chaos, progress: Progress = noProgress): Promise<Figures> {
  const random = randomFrom(scale.seed)
  refusedAlone.clear()
  const directory = await mkdtemp(join(tmpdir(), 'logferry-chaos-'))
  const weather = new Weather(random)
  await using server = await startFaultServer(request => weather.treat(request, isPoisoned), { keepsRequests: false })
  const { closeMs } = scale
  const processes: ChaosProcess[] = []
  const start = (forMs: number): ChaosProcess => {
    const index = processes.length
    const one = new ChaosProcess({ seed: scale.seed * 1000 + index, url: server.url, directory, index, forMs, closeMs })
    processes.push(one)
    return one
  }
  try {
    while (processes.length < scale.processes) {
      const some = Array.from({ length: scale.atOnce }, () => start(scale.maxLifeMs))
      await Promise.all(some.map(one => mishap(one, random, scale.maxLifeMs)))
      if (scale.isTimed) await Promise.all(some.map(one => one.whenEnded()))
      progress(`${processes.length} of ${scale.processes} processes, ${server.numbers.length} events arrived`)
    }
    weather.clear()
    await Promise.all(processes.map(one => one.end()))
    const last = start(0)
    await last.end()
    return {
      ...judge(processes, server.numbers, await readdir(directory), scale.isTimed),
      requests: server.requestCount,
    }
  } finally {
    for (const one of processes) one.kill()
    weather.clear()
    await rm(directory, { recursive: true })
  }
}

/** Lets a process live for a while. Then the process is killed, is stopped for a while, or goes on. */
async function mishap(one: ChaosProcess, random: () => number, maxLifeMs: number): Promise<void> {
  await sleep(random() * maxLifeMs)
  const fate = random()
  if (fate < 1 / 3) return one.kill()
  if (fate < 2 / 3) await one.suspend(random() * 500)
}

/** The state of the service: well and in trouble by turns, or changing from request to request. */
class Weather {
  readonly #random: () => number
  readonly #names = Object.keys(troubles)
  #now: () => Treatment = () => well
  #timer: NodeJS.Timeout | undefined

  constructor(random: () => number) {
    this.#random = random
    this.#change()
  }

  readonly #treatments = new WeakMap<object, Treatment>()

  /** Treats a request in the same way from its head to its end. */
  treat(request: Parameters<Treatment>[0], isPoison: Parameters<Treatment>[1]): void {
    const treatment = this.#treatments.get(request) ?? this.#now()
    this.#treatments.set(request, treatment)
    treatment(request, isPoison)
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#now = () => well
  }

  #change(): void {
    const oneTrouble = this.#trouble()
    const kind = this.#random()
    if (kind < 0.5) this.#now = () => well
    else if (kind < 0.8) this.#now = () => oneTrouble
    else this.#now = () => (this.#random() < 0.5 ? well : this.#trouble())
    this.#timer = setTimeout(() => this.#change(), 100 + this.#random() * 1000)
  }

  #trouble(): Treatment {
    return troubles[this.#names[Math.floor(this.#random() * this.#names.length)] as string] as Treatment
  }
}

class ChaosProcess {
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown[]>
  #said = ''
  #stderr = ''
  latest: ChaosReport | undefined
  /** Memory when it was largest. */
  mostMemory: ChaosMemory = { rssBytes: 0, heapBytes: 0, externalBytes: 0 }
  wasKilled = false

  constructor(job: ChaosJob) {
    this.#process = fork(new URL('./chaos-logger.ts', import.meta.url), {
      env: { ...surroundings(), CHAOS_JOB: JSON.stringify(job) },
      execArgv: [youngSpace],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#process.stdout?.setEncoding('utf8').on('data', text => this.#hear(text))
    this.#process.stderr?.setEncoding('utf8').on('data', text => {
      this.#stderr += text
    })
    this.#closed = once(this.#process, 'close')
  }

  get failure(): string {
    const { exitCode } = this.#process
    const hasFailed = (exitCode ?? 0) !== 0 || this.#stderr.includes('Warning: ') // of Node
    return hasFailed ? `exit code ${exitCode}: ${this.#stderr.slice(0, 500)}` : ''
  }

  get shippers(): readonly ChaosShipper[] {
    return this.latest?.shippers ?? []
  }

  kill(): void {
    if (this.#process.exitCode === null && this.#process.signalCode === null) this.wasKilled = true
    this.#process.kill('SIGKILL')
  }

  async suspend(ms: number): Promise<void> {
    this.#process.kill('SIGSTOP')
    await sleep(ms)
    this.#process.kill('SIGCONT')
  }

  /** Resolves when the process has ended by itself, or was killed. */
  async whenEnded(): Promise<void> {
    await this.#closed
  }

  /** Makes the process deliver its events, and waits for its end. */
  async end(): Promise<void> {
    if (this.#process.connected) this.#process.send('end', () => {})
    await this.#closed
  }

  #hear(text: string): void {
    const lines = (this.#said + text).split('\n')
    this.#said = lines.pop() as string
    const last = lines.at(-1)
    if (last === undefined) return
    this.latest = JSON.parse(last) as ChaosReport
    const { memory } = this.latest
    if (memory.rssBytes > this.mostMemory.rssBytes) this.mostMemory = memory
  }
}

/** Compares the arrivals with the reports of the processes. */
function judge(
  processes: readonly ChaosProcess[],
  numbers: readonly number[],
  leftInSpool: readonly string[],
  isTimed: boolean,
): Omit<Figures, 'requests'> {
  const arrived = new Map<number, Set<number>>()
  let twice = 0
  for (const number of numbers) {
    if (number === undefined) continue // an event that reports drops
    const shipper = Math.floor(number / numbersEach)
    const seen = arrived.get(shipper) ?? new Set()
    arrived.set(shipper, seen)
    if (seen.has(number)) twice++
    seen.add(number)
  }
  const broken = new Set<string>()
  let [events, lost, dropped, missing] = [0, 0, 0, 0]
  for (const one of processes) {
    if (one.failure !== '') broken.add(`a process failed (${one.failure})`)
    if (!one.wasKilled && one.latest?.isDone !== true) broken.add('a process did not come to its end')
    for (const shipper of one.shippers) {
      const missingHere = missingOf(shipper, arrived.get(shipper.number))
      const droppedHere = shipper.dropped + shipper.droppedSince
      events += shipper.logged
      dropped += droppedHere
      const hadInMemory = one.wasKilled && shipper.kind !== 'disk'
      if (!hadInMemory) missing += missingHere
      // Another process may drop events of a spool, and then counts them.
      if (!hadInMemory && shipper.kind === 'memory') lost += Math.max(missingHere - droppedHere, 0)
      for (const law of brokenBy(shipper, one.wasKilled)) broken.add(law)
    }
  }
  const living = processes.filter(({ latest }) => latest !== undefined)
  const callMs = Math.max(...living.map(({ latest }) => latest?.callMs.own ?? 0))
  const seenMs = Math.max(...living.map(({ latest }) => latest?.callMs.seen ?? 0))
  const stallMs = Math.max(...living.map(({ latest }) => latest?.stallMs ?? 0))
  const memory = living.map((one, index) => {
    const atStart = one.latest?.rssAtStartBytes ?? 0
    const allowed = one.shippers.reduce((sum, { maxBufferedBytes }) => sum + maxBufferedBytes, atStart + maxOtherBytes)
    const { rssBytes: used, heapBytes, externalBytes } = one.mostMemory
    const what = `${mebibytes(used)} of ${mebibytes(allowed)} MiB (process ${index + 1}: heap ${mebibytes(heapBytes)}, external ${mebibytes(externalBytes)})`
    return { used, allowed, what }
  })
  const most = memory.reduce((one, other) => (other.used / other.allowed > one.used / one.allowed ? other : one))
  const laws = {
    'every missing event is counted as dropped': lost === 0 && missing <= dropped,
    'the spool is empty at the end': leftInSpool.every(name => name.startsWith('rejected')),
    '99.9 % of the log calls take 5 ms or less': !isTimed || callMs <= 5,
    'the event loop is never held up for more than 250 ms': !isTimed || stallMs <= 250,
    'memory stays within its bound': most.used <= most.allowed,
  }
  return {
    events,
    lost,
    twice,
    notes: `${processes.length} processes, ${dropped} counted as dropped, log call p99.9 ${callMs.toFixed(2)} ms (with waits for a processor ${seenMs.toFixed(2)} ms), longest stall ${stallMs.toFixed(0)} ms, at most ${most.what}`,
    broken: [...brokenOf(laws), ...broken],
  }
}

function missingOf({ number, logged }: ChaosShipper, arrived: ReadonlySet<number> = new Set()): number {
  let missing = 0
  const first = number * numbersEach
  for (let n = first; n < first + logged; n++) if (!arrived.has(n) && !isPoison(n)) missing++
  return missing
}

function brokenBy(shipper: ChaosShipper, wasKilled: boolean): string[] {
  const { accepted, delivered, dropped, pending, left, bufferedBytes, maxBufferedBytes, wronglyRejected } = shipper
  return brokenOf({
    'accepted = delivered + dropped + pending': accepted === delivered + dropped + pending && pending >= 0,
    'memory for events is within maxBufferedBytes': bufferedBytes <= maxBufferedBytes && bufferedBytes >= 0,
    'only events in the spool are pending after close()': wasKilled || pending === left,
    // A path that refuses at random may refuse an event so often by chance.
    'only events that the service refuses are reported as refused': wronglyRejected.every(
      number => (refusedAlone.get(number) ?? 0) >= refusalsUntilDrop,
    ),
  })
}

function mebibytes(bytes: number): string {
  return (bytes / MiB).toFixed(0)
}
