import { type DropReason, isRefused } from '../accounting/drop-reasons.ts'
import type { ShipperStats } from '../shipper/shipper-stats.ts'

/** Returns the number of dropped events that the service refused. */
function refusedCount({ drops }: Pick<ShipperStats, 'drops'>): number {
  return Object.entries(drops)
    .filter(([reason]) => isRefused(reason as DropReason))
    .flatMap(([, bySeverity]) => Object.values(bySeverity))
    .reduce((total, count) => total + count, 0)
}

/** Returns the number of refused events that are in `rejected.ndjson`, if there is a spool. */
export function keptRefusals(stats: Pick<ShipperStats, 'drops' | 'spool'>): number {
  return Math.max(refusedCount(stats) - (stats.spool?.rejectedUnwritten ?? 0), 0)
}
