import type { Limit } from './enforcement.ts'
import type { LicenseLimits } from './license-limits.ts'
import type { RequestLog, RequestTotals } from './request-log.ts'
import type { Store } from './store.ts'

/** Totals since the start or the last `clear()`. */
export interface EmulatorStats extends RequestTotals {
  /** Events stored, those forgotten since included. */
  stored: number
  /** Events stored once, and given up since to stay within `maxStoredBytes`. */
  forgotten: number
  /** Memory that counts towards `maxStoredBytes`. */
  heldBytes: number
  /** How often each limit of a license refused: requests, but events for `maxFields`. */
  refusedByLimit: Record<Limit, number>
}

interface Received {
  log: RequestLog
  store: Store
}

export function statsOf({ log, store, licenseLimits }: Received & { licenseLimits: LicenseLimits }): EmulatorStats {
  return { ...log.totals(), ...store.totals(), ...licenseLimits.totals() }
}

/** What a test that waits in vain should know. */
export function arrivedSoFar({ log, store }: Received): string {
  const datasets = store.datasets().map(name => `'${name}' ${store.count(name)}`)
  const answers = Object.entries(log.totals().answers).map(([status, times]) => `${times} × ${status}`)
  return `datasets: ${datasets.join(', ') || 'none'}; answers: ${answers.join(', ') || 'none'}`
}
