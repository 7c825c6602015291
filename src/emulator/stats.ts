import type { Limit } from './enforcement.ts'
import type { LicenseLimits } from './license-limits.ts'
import type { RequestLog, RequestTotals } from './request-log.ts'
import type { Store } from './store.ts'

/** Totals since the start or the last `clear()`. */
export interface EmulatorStats extends RequestTotals {
  /** Events stored, including events forgotten since. */
  stored: number
  /** Events that were stored and later forgotten, to stay within `maxStoredBytes`. */
  forgotten: number
  /** Memory that counts toward `maxStoredBytes`, in bytes. */
  heldBytes: number
  /** Refusals by limit: the number of refused requests, or for `maxFields` of refused events. */
  refusedByLimit: Record<Limit, number>
}

interface Received {
  log: RequestLog
  store: Store
}

export function statsOf({ log, store, licenseLimits }: Received & { licenseLimits: LicenseLimits }): EmulatorStats {
  return { ...log.totals(), ...store.totals(), ...licenseLimits.totals() }
}

/** Returns the event and answer counts for the error of a `waitForEvents` call that fails. */
export function arrivedSoFar({ log, store }: Received): string {
  const datasets = store.datasets().map(name => `'${name}' ${store.count(name)}`)
  const answers = Object.entries(log.totals().answers).map(([status, times]) => `${times} × ${status}`)
  return `datasets: ${datasets.join(', ') || 'none'}; answers: ${answers.join(', ') || 'none'}`
}
