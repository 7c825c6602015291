import type { Emulator } from '../../emulator/emulator.ts'
import type { EventPredicate } from '../../emulator/fault-plan.ts'
import type { TokenGrant } from '../../emulator/tokens.ts'
import { clearTimeout, setTimeout, systemTimeMs } from '../../time.ts'
import type { UidMark, UidTrail } from '../intake/uid-trail.ts'
import type { FaultReport, FaultSettings, FaultsAnswer, RequestRow } from '../protocol.ts'
import { UnusableQuery } from '../query/event-predicate.ts'
import { faultForms } from './fault-kinds.ts'
import { FaultMistake } from './fault-mistake.ts'
import { checkedFault, textOfFault } from './fault-text.ts'

type Ended = FaultsAnswer['ended'][number]

const maxEnded = 20
const maxWaits = 20
/** Time after the end of a fault in which retries still count for its report, in milliseconds. */
const aftermathMs = 60_000

interface Run {
  readonly id: string
  readonly fault: FaultSettings
  readonly startedAt: number
  readonly endsAt: number
  readonly mark: UidMark
  readonly report: FaultReport
  /** Number of the first request that meets the fault. */
  readonly fromRequest: number
  endedAt: number | undefined
  /** The test of the events that the fault rejects. */
  readonly predicate: EventPredicate | undefined
  timer: NodeJS.Timeout
}

export interface FaultDeps {
  readonly emulator: Pick<Emulator, 'faults' | 'addToken' | 'revokeToken'>
  readonly token: string
  readonly uids: UidTrail
  /** Returns the test for events that match a query. */
  readonly predicateOf: (query: string) => EventPredicate
  /** Number of requests so far. */
  readonly requests: () => number
  /** Called when a fault starts or ends. */
  readonly onChange: () => void
}

/**
 * The faults in force, and the reports of those that have ended. Each fault ends by itself. A fault takes the place of
 * one of the same kind, and `status` and `reset` take the place of each other: both decide about the whole answer.
 */
export class RunningFaults {
  readonly #deps: FaultDeps
  readonly #runs: Run[] = []
  #aftermath: Run[] = []
  #ended: Ended[] = []
  #started = 0

  constructor(deps: FaultDeps) {
    this.#deps = deps
  }

  /** True if a fault runs, or has ended so recently that its report may still change. */
  get isReporting(): boolean {
    return this.#runs.length > 0 || this.#aftermath.length > 0
  }

  /** @throws FaultMistake */
  start(settings: FaultSettings): void {
    const fault = checkedFault(settings)
    const predicate = fault.kind === 'reject' ? this.#predicateOf(fault.query as string) : undefined
    for (const run of [...this.#runs]) if (isInTheWay(run.fault, fault)) this.#end(run)
    for (const run of [...this.#aftermath]) this.#freeze(run)
    this.#started += 1
    const startedAt = systemTimeMs()
    const run: Run = {
      id: String(this.#started),
      fault,
      startedAt,
      endsAt: startedAt + 1000 * fault.forS,
      mark: this.#deps.uids.mark(),
      report: { attempts: 0, refused: 0, waitsMs: [], arrived: 0, duplicates: 0, lost: null },
      fromRequest: this.#deps.requests() + 1,
      endedAt: undefined,
      predicate,
      timer: setTimeout(() => this.#end(run), 1000 * fault.forS),
    }
    this.#runs.push(run)
    this.#apply()
    this.#deps.onChange()
  }

  /** @throws FaultMistake if no such fault runs */
  stop(id: string): void {
    const run = this.#runs.find(each => each.id === id)
    if (run === undefined) throw new FaultMistake('this fault does not run any more')
    this.#end(run)
  }

  /** True if a fault refuses this request, although the emulator does not know it. */
  refuses({ status }: { status: number | undefined }): boolean {
    return status === 403 && this.#runs.some(({ fault }) => fault.kind === 'revoke-token')
  }

  onEnded(row: RequestRow): void {
    if (row.kind !== 'ingest' && row.kind !== 'otlp') return
    for (const run of this.#reporting()) {
      const { report } = run
      if (row.retryOf !== undefined && row.n >= run.fromRequest) {
        report.waitsMs.push(row.retryOf.waitedMs)
        if (report.waitsMs.length > maxWaits) report.waitsMs.shift()
      }
      if (row.n < run.fromRequest || (run.endedAt !== undefined && row.at >= run.endedAt)) continue
      report.attempts += 1
      if (row.fault) report.refused += 1
    }
  }

  onStored({ events, duplicates }: { events: number; duplicates: number }): void {
    for (const { report } of this.#reporting()) {
      report.arrived += events
      report.duplicates += duplicates
    }
  }

  running(): FaultsAnswer['running'] {
    return this.#runs.map(run => {
      const { id, fault, startedAt, endsAt } = run
      return { id, fault, argument: textOfFault(fault), startedAt, endsAt, report: this.#reportOf(run) }
    })
  }

  ended(): FaultsAnswer['ended'] {
    return [...this.#aftermath.map(run => this.#endedOf(run)), ...this.#ended].slice(0, maxEnded)
  }

  close(): void {
    for (const { timer } of this.#reporting()) clearTimeout(timer)
  }

  #reporting(): Run[] {
    return [...this.#runs, ...this.#aftermath]
  }

  #end(run: Run): void {
    clearTimeout(run.timer)
    this.#runs.splice(this.#runs.indexOf(run), 1)
    run.endedAt = systemTimeMs()
    this.#aftermath.unshift(run)
    run.timer = setTimeout(() => this.#freeze(run), aftermathMs)
    if (run.fault.kind === 'revoke-token') {
      this.#deps.emulator.addToken(grantOf(this.#deps.token))
    }
    this.#apply()
    this.#deps.onChange()
  }

  #freeze(run: Run): void {
    clearTimeout(run.timer)
    this.#ended = [this.#endedOf(run), ...this.#ended].slice(0, maxEnded)
    this.#aftermath = this.#aftermath.filter(each => each !== run)
  }

  /** Makes the emulator's faults those that run. */
  #apply(): void {
    const { emulator, token } = this.#deps
    const { faults } = emulator
    faults.clear()
    for (const { fault, predicate } of this.#runs) {
      faultForms[fault.kind].make(fault, { faults, predicate, revokeToken: () => emulator.revokeToken(token) })
    }
  }

  #predicateOf(query: string): EventPredicate {
    try {
      return this.#deps.predicateOf(query)
    } catch (error) {
      throw error instanceof UnusableQuery ? new FaultMistake(error.message) : error
    }
  }

  #reportOf({ report, mark }: Run): FaultReport {
    const { uids } = this.#deps
    return { ...report, waitsMs: [...report.waitsMs], lost: uids.hasUids ? uids.missingSince(mark) : null }
  }

  #endedOf(run: Run): Ended {
    const { id, fault, startedAt, endedAt = run.endsAt } = run
    return { id, fault, argument: textOfFault(fault), startedAt, endedAt, report: this.#reportOf(run) }
  }
}

/** The rights of the token of the dev service: to ingest, and to read and update the organization. */
export function grantOf(token: string): TokenGrant {
  return { kind: 'api', actions: ['ingest', 'org:read', 'org:write'], token }
}

function isInTheWay(running: FaultSettings, next: FaultSettings): boolean {
  const decides = (kind: FaultSettings['kind']): boolean => kind === 'status' || kind === 'reset'
  return running.kind === next.kind || (decides(running.kind) && decides(next.kind))
}
