import type { RequestLog } from './request-log.ts'
import type { Store } from './store.ts'

/** Totals since the start or the last `clear()`. */
export interface EmulatorStats {
  requests: number
  /** How often each status was answered. */
  answers: Record<number, number>
  /** Bytes of request bodies as they came. */
  wireBytes: number
  /** Bytes of request bodies once decoded. */
  decodedBytes: number
  /** Events stored, those forgotten since included. */
  stored: number
  /** Events stored once, and given up since to stay within `maxStoredBytes`. */
  forgotten: number
  /** Memory that counts towards `maxStoredBytes`. */
  heldBytes: number
}

interface Received {
  log: RequestLog
  store: Store
}

export function statsOf({ log, store }: Received): EmulatorStats {
  return { ...log.totals(), ...store.totals() }
}

/** What a test that waits in vain should know. */
export function arrivedSoFar({ log, store }: Received): string {
  const datasets = store.datasets().map(name => `'${name}' ${store.count(name)}`)
  const answers = Object.entries(log.totals().answers).map(([status, times]) => `${times} × ${status}`)
  return `datasets: ${datasets.join(', ') || 'none'}; answers: ${answers.join(', ') || 'none'}`
}
