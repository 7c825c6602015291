import { type Severity, type SeverityName, severities } from './severity.ts'

/** The reason for which an event was dropped. */
export type DropReason =
  /** Memory was full (for events of this severity). */
  | 'memory'
  /** The service refused the event. */
  | 'rejected'
  /** The service refused the event for its size, although it was alone in a request. */
  | 'too-large'
  /** `close()` or the end of the process could not wait any longer. */
  | 'closed'
  /** The `dataset` function threw, or returned no usable name. */
  | 'dataset'
  /** The spool had reached its `maxBytes`; the oldest events are dropped first. */
  | 'spool-full'
  /** The spooled event is damaged or missing. */
  | 'spool-damaged'
  /** The event could not be redacted: the function of `redact.censor` failed. */
  | 'redact'
  /** The event was sampled away so that the license's monthly ingest lasts (`limits.onBudget: 'shed'`). */
  | 'budget'
  /** The `transform` function returned no event. */
  | 'transform'
  /** The event was sampled away by the option `sample`. */
  | 'sample'
  /** The event repeated another, and a later event stands for its repetitions (`collapse`). */
  | 'collapsed'
  /** The event was held, and no event of its trace was severe enough to release it in time (`hold`). */
  | 'untriggered'
  /** The OpenTelemetry record came after its processor or exporter was shut down. */
  | 'shut-down'
  /** The runtime failed, for example for lack of memory, or log calls within log calls did not end. */
  | 'error'

const intended: ReadonlySet<DropReason> = new Set(['budget', 'transform', 'sample', 'collapsed', 'untriggered'])

/** True if the application has asked for the drop, by its options. Such a drop fails no OpenTelemetry export. */
export function isIntended(reason: DropReason): boolean {
  return intended.has(reason)
}

/**
 * Number of dropped events by severity. `unknown` counts events that could not be read, and refused events that the
 * service did not identify.
 */
export type DropsBySeverity = Partial<Record<SeverityName | 'unknown', number>>

/** Events that were dropped. */
export interface Dropped {
  readonly reason: DropReason
  readonly count: number
  readonly bySeverity: DropsBySeverity
  /** Dataset of the events; `undefined` if they were dropped inside their log calls, or if it is unknown. */
  readonly dataset: string | undefined
  /** True if the events had been sent. The service may have stored them nevertheless, if only its answer was lost. */
  readonly wasSent: boolean
}

/** The origin of dropped events. */
export type DropOrigin = Partial<Pick<Dropped, 'dataset' | 'wasSent'>>

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
  counts[name] = (counts[name] ?? 0) + count
}

/** Counts the lines of each severity. */
export function tally(lines: Uint8Array): DropsBySeverity {
  const bySeverity: DropsBySeverity = {}
  for (const severity of lines) countOne(bySeverity, severity as Severity)
  return bySeverity
}

/** The reasons for which events are dropped before they are in a batch. */
export const refusals = [
  'memory',
  'dataset',
  'redact',
  'budget',
  'transform',
  'sample',
  'collapsed',
  'untriggered',
  'shut-down',
  'error',
] as const satisfies DropReason[]
export type Refusal = (typeof refusals)[number]

/** Number of events of each severity, indexed by severity. */
type Counts = [number, number, number, number, number, number]

/** Counts what happened to every event, and owns the law: at every moment accepted = delivered + dropped + pending. */
export class Ledger {
  /**
   * Number of events that were accepted when they were logged, or adopted from another process. A log call counts its
   * event by `admitted++`, the one number that is written from outside: if the stack is exhausted, no method can be
   * called, and the event already has its place in a batch.
   */
  admitted = 0
  #delivered = 0
  #handedOff = 0
  #sent = 0
  /**
   * Events dropped before they were in a batch, mostly inside their own log calls. One number counts an event as
   * accepted and dropped at once. So `refused.error[severity]++` can count the event when the stack is exhausted and no call is possible.
   */
  readonly refused = noRefusals()
  readonly #reported = noRefusals()
  #droppedLater = 0
  readonly #drops = new Map<DropReason, DropsBySeverity>()
  readonly #sentDrops = new Map<DropReason, number>()

  get accepted(): number {
    return this.admitted + this.#refusedCount
  }

  get dropped(): number {
    return this.#droppedLater + this.#refusedCount
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

  /** Number of events that have been in a request. An event counts once, however often it is sent. */
  get sent(): number {
    return this.#sent
  }

  /** Notes that a request with so many events starts, and that no request had these events before. */
  send(count: number): void {
    this.#sent += count
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

  /**
   * Hands pending events off to another process.
   *
   * @param settledAgain further events that go along, although they were settled before: they will be settled again
   */
  handOff(count: number, settledAgain = 0): void {
    this.#handedOff += count + settledAgain
    this.admitted += settledAgain
  }

  /** Takes back events that this process handed off. */
  takeBack(count: number): void {
    this.#handedOff -= count
  }

  /** Returns a copy of the drops, by reason and severity. */
  drops(): Partial<Record<DropReason, DropsBySeverity>> {
    const refused = refusals.map(reason => [reason, difference(this.refused[reason], none)] as const)
    return Object.fromEntries([
      ...refused.filter(([, { count }]) => count > 0).map(([reason, { bySeverity }]) => [reason, bySeverity]),
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

  /** Returns the events refused for this reason since the last call with the same reason. */
  takeRefused(reason: Refusal): { count: number; bySeverity: DropsBySeverity } {
    const [refused, reported] = [this.refused[reason], this.#reported[reason]]
    const unreported = difference(refused, reported)
    for (let severity = 0; severity < reported.length; severity++)
      reported[severity as Severity] = refused[severity as Severity]
    return unreported
  }

  get #refusedCount(): number {
    let count = 0
    for (const reason of refusals) for (const one of this.refused[reason]) count += one
    return count
  }
}

function noRefusals(): Readonly<Record<Refusal, Counts>> {
  const counts = refusals.map((reason): [Refusal, Counts] => [reason, [0, 0, 0, 0, 0, 0]])
  return Object.fromEntries(counts) as Record<Refusal, Counts>
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
