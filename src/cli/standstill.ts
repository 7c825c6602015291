import type { Shipper } from '../index.ts'
import { monotonicMs } from '../time.ts'

/** Returns a function that returns true if no event was read or settled for `forMs` milliseconds. */
export function standstill(shipper: Shipper, forMs: number): () => boolean {
  let [last, sinceMs] = [0, monotonicMs()]
  return () => {
    const { accepted, delivered, dropped } = shipper.stats()
    const now = accepted + delivered + dropped
    if (now !== last) [last, sinceMs] = [now, monotonicMs()]
    return monotonicMs() - sinceMs >= forMs
  }
}
