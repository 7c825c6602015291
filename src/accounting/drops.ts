import type { Diagnostics } from './diagnostics.ts'
import type { DropReason, IntakeDropReason } from './drop-reasons.ts'
import type { DropOrigin, DropsBySeverity, Ledger } from './ledger.ts'

interface DropsDeps {
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
}

/** A drop of pending events. */
export interface Drop extends DropOrigin {
  readonly reason: DropReason
  readonly bySeverity: DropsBySeverity
}

/**
 * Drops pending events: counts them and reports them. No other function does either.
 *
 * @param report calls the function that reports the drop, at once by default
 */
export function dropPending(
  { ledger, diagnostics }: DropsDeps,
  { reason, bySeverity, ...origin }: Drop,
  report: (emit: () => void) => void = emit => emit(),
): void {
  const dropped = ledger.drop(reason, bySeverity, origin)
  report(() => diagnostics.emit('dropped', dropped))
}

/**
 * Reports the events that were dropped for this reason before they were in a batch, since the last call. Each was
 * counted by its log call. Returns their number, and their severities.
 */
export function reportIntakeDrops(
  { ledger, diagnostics }: DropsDeps,
  reason: IntakeDropReason,
): { count: number; bySeverity: DropsBySeverity } {
  const { count, bySeverity } = ledger.takeUnreported(reason)
  if (count > 0) diagnostics.emit('dropped', { reason, count, bySeverity, dataset: undefined, wasSent: false })
  return { count, bySeverity }
}
