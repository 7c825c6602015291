import { type DropReason, type IntakeDropReason, intakeDropReasons } from './drop-reasons.ts'
import { type Severity, type SeverityName, severities } from './severity.ts'

/**
 * Number of dropped events by severity. `unknown` counts events that could not be read, and refused events that the
 * service did not identify.
 */
export type DropsBySeverity = Partial<Record<SeverityName | 'unknown', number>>

/** Events that were dropped. */
export interface Dropped {
  /** Reason of the drop. */
  readonly reason: DropReason
  /** Number of events. */
  readonly count: number
  /** Number of events of each severity. */
  readonly bySeverity: DropsBySeverity
  /** Dataset of the events; `undefined` if they were dropped inside their log calls or never released, or if it is unknown. */
  readonly dataset: string | undefined
  /** True if the events had been sent. The service may have stored them nevertheless, if only its answer was lost. */
  readonly wasSent: boolean
}

/** The origin of dropped events. */
export type DropOrigin = Partial<Pick<Dropped, 'dataset' | 'wasSent'>>

/** Pending events that are handed off to another process. */
interface HandedOff {
  readonly count: number
  /** Further events that go along, although they were settled before: they will be settled again. */
  readonly settledAgain: number | undefined
  /** True if the pending events have been in a request. */
  readonly wasSent: boolean
}

/** Numbers of dropped events for one reason: the events that had been sent before, and the others. */
export interface DropCounts {
  sent: number
  unsent: number
}

/** Counts one more event of a severity. */
export function countOne(counts: DropsBySeverity, severity: Severity | undefined): void {
  addCount(counts, severity === undefined ? 'unknown' : severities[severity], 1)
}

/** Adds other counts to `counts`. Returns the number of events added. */
export function addCounts(counts: DropsBySeverity, added: DropsBySeverity): number {
  let total = 0
  for (const [name, count] of Object.entries(added) as [keyof DropsBySeverity, number][]) {
    addCount(counts, name, count)
    total += count
  }
  return total
}

function addCount(counts: DropsBySeverity, name: keyof DropsBySeverity, count: number): void {
  counts[name] = (Object.hasOwn(counts, name) ? (counts[name] as number) : 0) + count
}

/** Counts the lines of each severity. */
export function tally(lines: Uint8Array): DropsBySeverity {
  const bySeverity: DropsBySeverity = {}
  for (const severity of lines) countOne(bySeverity, severity as Severity)
  return bySeverity
}

/** Number of events of each severity, indexed by severity. */
type Counts = [number, number, number, number, number, number]

/** Counts what happened to every event, and owns the law: at every moment accepted = delivered + dropped + pending. */
export class Ledger {
  /**
   * Number of events that were accepted when they were logged, or adopted from another process. A log call counts its
   * event by `admitted++`: `Intake.add` an event that has its place in a batch, and `HeldEvents.hold` an event that has its
   * memory. No other number is written from outside. If the stack is exhausted, no method can be called any more.
   */
  admitted = 0
  #delivered = 0
  #handedOff = 0
  #handedOffInAll = 0
  #sent = 0
  /** Number of events that were handed off after a request had them. */
  #sentHandedOff = 0
  /** Number of events that were taken back, and have been counted as sent. */
  #sentBefore = 0
  /**
   * Events dropped before they were in a batch, mostly inside their own log calls. One number counts an event as
   * accepted and dropped at once. So `intakeDropCounts.error[severity]++` can count the event when the stack is exhausted
   * and no call is possible.
   */
  readonly intakeDropCounts = noDrops()
  readonly #reported = noDrops()
  #reportedTotal = 0
  #droppedLater = 0
  readonly #drops = new Map<DropReason, DropsBySeverity>()
  readonly #sentDrops = new Map<DropReason, number>()

  get accepted(): number {
    return this.admitted + this.#intakeDropTotal
  }

  get dropped(): number {
    return this.#droppedLater + this.#intakeDropTotal
  }

  get delivered(): number {
    return this.#delivered
  }

  get pending(): number {
    return this.admitted - this.#delivered - this.#droppedLater
  }

  /**
   * Number of pending events that were handed off to another process through the spool. This process is done with them.
   */
  get handedOff(): number {
    return this.#handedOff
  }

  /** The same number, with the events that this process has taken back since. It never falls. */
  get handedOffInAll(): number {
    return this.#handedOffInAll
  }

  /**
   * Number of events that have been in a request. An event counts once, however often it is sent, also if this process
   * has handed it off and taken it back.
   */
  get sent(): number {
    return this.#sent
  }

  /** Notes that a request with so many events starts, and that no request had these events before. */
  send(count: number): void {
    const again = Math.min(count, this.#sentBefore)
    this.#sentBefore -= again
    this.#sent += count - again
  }

  deliver(count: number): void {
    this.#delivered += count
  }

  /** Drops pending events. Returns the drop, for the listeners. */
  drop(
    reason: DropReason,
    bySeverity: DropsBySeverity,
    { dataset = undefined, wasSent = false }: DropOrigin = {},
  ): Dropped {
    const drops = this.#drops.get(reason) ?? {}
    const count = addCounts(drops, bySeverity)
    this.#droppedLater += count
    this.#drops.set(reason, drops)
    if (wasSent) this.#sentDrops.set(reason, (this.#sentDrops.get(reason) ?? 0) + count)
    return { reason, count, bySeverity, dataset, wasSent }
  }

  /** Takes back an event that was accepted to be held, and is about to be accepted by a log call. */
  unhold(): void {
    this.admitted--
  }

  /** Accepts events of another process, or events of a batch that were not known before. */
  adopt(count: number): void {
    this.admitted += count
  }

  /** Hands pending events off to another process. */
  handOff({ count, settledAgain = 0, wasSent }: HandedOff): void {
    if (wasSent) this.#sentHandedOff += count
    this.#handedOff += count + settledAgain
    this.#handedOffInAll += count + settledAgain
    this.admitted += settledAgain
  }

  /** Takes back events that this process handed off. */
  takeBack(count: number): void {
    this.#handedOff -= count
    // The store does not tell which of them had been sent. If another process takes some, the number may be a little low.
    const sentBefore = Math.min(count, this.#sentHandedOff)
    this.#sentHandedOff -= sentBefore
    this.#sentBefore += sentBefore
  }

  /** Returns a copy of the drops, by reason and severity. */
  drops(): Partial<Record<DropReason, DropsBySeverity>> {
    const atIntake = intakeDropReasons.map(reason => [reason, difference(this.intakeDropCounts[reason], none)] as const)
    return Object.fromEntries([
      ...atIntake.filter(([, { count }]) => count > 0).map(([reason, { bySeverity }]) => [reason, bySeverity]),
      ...[...this.#drops].map(([reason, drops]) => [reason, { ...drops }]),
    ])
  }

  /** Returns the numbers of dropped events by reason. */
  dropCounts(): Map<DropReason, DropCounts> {
    const counts = new Map<DropReason, DropCounts>()
    for (const [reason, drops] of Object.entries(this.drops()) as [DropReason, DropsBySeverity][]) {
      const sent = this.#sentDrops.get(reason) ?? 0
      const total = Object.values(drops).reduce((sum, count) => sum + count, 0)
      counts.set(reason, { sent, unsent: total - sent })
    }
    return counts
  }

  /** Returns the events dropped at the intake for this reason since the last call with the same reason. */
  takeUnreported(reason: IntakeDropReason): { count: number; bySeverity: DropsBySeverity } {
    const [dropped, reported] = [this.intakeDropCounts[reason], this.#reported[reason]]
    const unreported = difference(dropped, reported)
    for (let severity = 0; severity < reported.length; severity++)
      reported[severity as Severity] = dropped[severity as Severity]
    this.#reportedTotal += unreported.count
    return unreported
  }

  /** True if events were dropped at the intake since the calls of `takeUnreported`. */
  get hasUnreported(): boolean {
    return this.#intakeDropTotal > this.#reportedTotal
  }

  get #intakeDropTotal(): number {
    let count = 0
    for (const reason of intakeDropReasons) for (const one of this.intakeDropCounts[reason]) count += one
    return count
  }
}

function noDrops(): Readonly<Record<IntakeDropReason, Counts>> {
  const counts = intakeDropReasons.map((reason): [IntakeDropReason, Counts] => [reason, [0, 0, 0, 0, 0, 0]])
  return Object.fromEntries(counts) as Record<IntakeDropReason, Counts>
}

const none: Readonly<Counts> = [0, 0, 0, 0, 0, 0]

function difference(
  counts: Readonly<Counts>,
  earlier: Readonly<Counts>,
): { count: number; bySeverity: DropsBySeverity } {
  const bySeverity: DropsBySeverity = {}
  let count = 0
  for (const [severity, name] of severities.entries()) {
    const added = counts[severity as Severity] - earlier[severity as Severity]
    if (added > 0) bySeverity[name] = added
    count += added
  }
  return { count, bySeverity }
}
