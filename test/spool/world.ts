import type { Severity } from '../../src/accounting/severity.ts'
import { severities } from '../../src/accounting/severity.ts'
import type { Outcome } from '../../src/outcome.ts'
import { SpoolCoordinator } from '../../src/shipper/spool-coordinator.ts'
import { delivered, numbers, pipelineTo } from '../delivery/wired.ts'
import { FakeDisk } from './fake-disk.ts'

/** An answer of the service: an outcome, or storage of the events with a lost answer. */
export type ServiceAnswer = Outcome | 'stored, then reset'

export interface WorldOptions {
  readonly directory: string
  readonly maxBytes: number
  readonly durability: 'memory' | 'disk'
}

/** A process that ships. */
export interface Process extends Omit<ReturnType<typeof pipelineTo>, 'dropped'> {
  readonly spooling: SpoolCoordinator
  /** Numbers of the events that the process has logged. */
  readonly logged: ReadonlySet<number>
  /** Drops of events whose log call returned true, or that were adopted. */
  dropped(): number
  logText(dataset: string, severity: Severity, text: string): void
  flush(): void
  /** Does what `close()` does if no time is left. */
  close(): void
  /** Ends the process at once. */
  end(): void
}

const answerAfterMs = 50
const destination = 'http://127.0.0.1/'
export const maxBatchBytes = 16_384
export const maxBufferedBytes = 8 * maxBatchBytes

/** Processes that share one spool and one service, and the expected fate of each event. */
export class World {
  readonly disk = new FakeDisk()
  readonly processes: Process[] = []
  /** The line of every logged event, by its number. */
  readonly lines: string[] = []
  /** Numbers of the events whose log call returned true. */
  readonly accepted = new Set<number>()
  /** Number of arrivals of each event at the service. */
  readonly arrivals = new Map<number, number>()
  /** Lines that arrived although they were never logged. */
  readonly invented: string[] = []
  /** Events that a crash may cost, because they were in memory alone. */
  readonly mayBeMissing = new Set<number>()
  /** Events that a crash may deliver again, because they were on disk. */
  readonly mayComeTwice = new Set<number>()
  /** The next answers of the service. After these, it accepts everything. */
  answers: ServiceAnswer[] = []
  /** Number of flushes that are still waiting. */
  flushing = 0
  droppedByTheDead = 0
  hasFaults = false
  hasCrashed = false
  /** True if a file was removed that a process needs. */
  isCleaned = false
  readonly #options: WorldOptions

  constructor(options: WorldOptions) {
    this.#options = options
  }

  start(): void {
    const { directory, maxBytes, durability } = this.#options
    const mount = this.disk.mount()
    /** Number of requests that were aborted before the service had them. */
    let breaks = 0
    const row = pipelineTo(
      async ({ lines }) => {
        const before = breaks
        await new Promise(resolve => setTimeout(resolve, answerAfterMs))
        return before === breaks ? this.#answer(lines) : new Promise(() => {})
      },
      {
        maxBatchBytes,
        maxBufferedBytes,
        maxBatchEvents: 40,
        openSpool: parts => new SpoolCoordinator({ directory, maxBytes, destination }, durability, parts, mount.disk),
      },
    )
    const spooling = row.spool as SpoolCoordinator
    const logged = new Set<number>()
    let refused = 0
    let flushing = 0
    void spooling.adoptOrphans()
    const process: Process = {
      ...row,
      spooling,
      logged,
      dropped: () => row.ledger.dropped - refused,
      logText: (dataset, severity, text) => {
        const n = this.lines.length
        this.lines.push(JSON.stringify({ n, text }))
        logged.add(n)
        if (row.log(n, { dataset, severity, text })) {
          this.accepted.add(n)
          return
        }
        row.ledger.drop('memory', { [severities[severity]]: 1 })
        refused++
      },
      flush: () => {
        flushing++
        this.flushing++
        void Promise.all([row.batchQueue.flush(), spooling.adoptOrphans()]).then(() => {
          if (!this.processes.includes(process)) return
          flushing--
          this.flushing--
        })
      },
      close: () => {
        breaks++
        const { admitted } = row.ledger
        row.delivery.abandon('closed', { isKept: batch => spooling.handOff(batch) })
        // A batch was handed off as a whole although some of it had been delivered: there was no room for the rest alone.
        if (row.ledger.admitted > admitted) for (const n of this.onDisk('seen')) this.mayComeTwice.add(n)
        spooling.close()
      },
      end: () => {
        breaks++
        this.flushing -= flushing
        mount.kill()
        // The requests and timers of the process have ended. What it counts from now on does not matter.
        row.delivery.abandon('closed')
        spooling.close()
        this.processes.splice(this.processes.indexOf(process), 1)
      },
    }
    this.processes.push(process)
  }

  /** Ends a process. What it has given to the system stays. */
  kill(process: Process): void {
    this.hasCrashed = true
    const onDisk = this.onDisk('seen')
    this.#crash([process], onDisk, onDisk)
  }

  /** The power fails: every process ends, and unsynced content may be lost. */
  failPower(share: () => number): void {
    this.hasCrashed = true
    const [synced, seen] = [this.onDisk('synced'), this.onDisk('seen')]
    this.#crash([...this.processes], synced, seen)
    // Also events of processes that had ended before.
    for (const n of this.accepted) if (!synced.has(n)) this.mayBeMissing.add(n)
    this.disk.failPower(share)
    for (const n of this.onDisk('seen')) this.mayComeTwice.add(n)
  }

  /** Returns the numbers of the events that are intact in a file, found without the product's own reader. */
  onDisk(what: 'seen' | 'synced'): Set<number> {
    const found = new Set<number>()
    for (const bytes of this.disk.images(what).values()) {
      const text = bytes.toString('latin1')
      for (const [line, n] of text.matchAll(/\{"n":(\d+),"text":"[^"]*"\}\n/g)) {
        if (line === `${this.lines[Number(n)]}\n`) found.add(Number(n))
      }
    }
    return found
  }

  /** Returns the accepted events that have not arrived, although no crash excuses it. */
  missing(): number[] {
    return [...this.accepted].filter(n => !this.arrivals.has(n) && !this.mayBeMissing.has(n))
  }

  /** Returns the events that have arrived more than once, although no crash and no lost answer excuses it. */
  repeated(): number[] {
    return [...this.arrivals].filter(([n, count]) => count > 1 && !this.mayComeTwice.has(n)).map(([n]) => n)
  }

  dropped(): number {
    return this.processes.reduce((sum, process) => sum + process.dropped(), this.droppedByTheDead)
  }

  #crash(processes: readonly Process[], kept: ReadonlySet<number>, seen: ReadonlySet<number>): void {
    for (const process of processes) {
      this.droppedByTheDead += process.dropped()
      for (const n of process.logged) if (!kept.has(n)) this.mayBeMissing.add(n)
      process.end()
    }
    for (const n of seen) this.mayComeTwice.add(n)
  }

  #answer(lines: readonly string[]): Outcome {
    const answer = this.answers.shift() ?? delivered
    if (answer === 'stored, then reset' || answer.kind === 'delivered') for (const line of lines) this.#arrive(line)
    if (answer !== 'stored, then reset') return answer
    for (const n of numbers(lines)) this.mayComeTwice.add(n)
    return { kind: 'retryable', reason: 'ECONNRESET', unanswered: 'broken' }
  }

  #arrive(line: string): void {
    const { n } = JSON.parse(line)
    if (this.lines[n] !== line) this.invented.push(line)
    this.arrivals.set(n, (this.arrivals.get(n) ?? 0) + 1)
  }
}
