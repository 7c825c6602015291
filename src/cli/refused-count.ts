import { type DropReason, isRefused } from '../accounting/drop-reasons.ts'
import type { ShipperStats } from '../shipper/shipper-stats.ts'

/** Returns the number of dropped events that the service refused. */
export function refusedCount({ drops }: Pick<ShipperStats, 'drops'>): number {
  return Object.entries(drops)
    .filter(([reason]) => isRefused(reason as DropReason))
    .flatMap(([, bySeverity]) => Object.values(bySeverity))
    .reduce((total, count) => total + count, 0)
}
