import { type Severity, type SeverityName, severities } from '../record/severity.ts'

/** Why an event was given up on this side of the service's answer. */
export type DropReason =
  /** Memory was full (for events of this severity). */
  | 'memory'
  /** The service refused the event. */
  | 'rejected'
  /** The service refused the event for its size, alone in a request. */
  | 'too-large'
  /** `close()` or the end of the process could not wait any longer. */
  | 'closed'
  /** The `dataset` function threw or gave no usable name. */
  | 'dataset'
  /** The spool had reached its `maxBytes`; the oldest go first. */
  | 'spool-full'
  /** What the spool had of it is damaged or gone. */
  | 'spool-damaged'
  /** Sampled away so that the licence's monthly ingest lasts (`limits.onBudget: 'shed'`). */
  | 'budget'
  /** The runtime failed us, out of memory for instance. */
  | 'error'

/** Dropped events by severity; `unknown` where the service refused an event without saying which. */
export type DropsBySeverity = Partial<Record<SeverityName | 'unknown', number>>

/** How many there are of each severity. */
export function tally(lines: Uint8Array): DropsBySeverity {
  const bySeverity: DropsBySeverity = {}
  for (const severity of lines) {
    const name = severities[severity as Severity]
    bySeverity[name] = (bySeverity[name] ?? 0) + 1
  }
  return bySeverity
}

/** What became of every event that was given to us. At every moment accepted = delivered + dropped + pending. */
export class Ledger {
  accepted = 0
  delivered = 0
  dropped = 0
  /** Of those that are pending: handed over to the spool for another process, and nothing that is still done here. */
  left = 0
  readonly #drops = new Map<DropReason, DropsBySeverity>()

  get pending(): number {
    return this.accepted - this.delivered - this.dropped
  }

  drop(reason: DropReason, bySeverity: DropsBySeverity): void {
    const drops = this.#drops.get(reason) ?? {}
    for (const [name, count] of Object.entries(bySeverity) as [keyof DropsBySeverity, number][]) {
      this.dropped += count
      drops[name] = (drops[name] ?? 0) + count
    }
    this.#drops.set(reason, drops)
  }

  /** Drops by reason, then by severity; a copy. */
  drops(): Partial<Record<DropReason, DropsBySeverity>> {
    return Object.fromEntries([...this.#drops].map(([reason, drops]) => [reason, { ...drops }]))
  }
}
