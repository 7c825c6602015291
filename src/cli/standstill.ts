import type { Shipper } from '../index.ts'
import { monotonicMs } from '../time.ts'

/**
 * Maximum time between two calls that counts, in milliseconds. Callers ask at least every five seconds. A process that was
 * frozen meanwhile, as by Ctrl-Z, could not hear the service.
 */
const maxStepMs = 10_000

/** Returns a function that returns true if no event was read or settled for `forMs` milliseconds. */
export function standstill(
  shipper: Pick<Shipper, 'stats'>,
  forMs: number,
  nowMs: () => number = monotonicMs,
): () => boolean {
  let [last, stillMs, calledAtMs] = [0, 0, nowMs()]
  return () => {
    const { accepted, delivered, dropped } = shipper.stats()
    const now = accepted + delivered + dropped
    stillMs = now === last ? stillMs + Math.min(nowMs() - calledAtMs, maxStepMs) : 0
    last = now
    calledAtMs = nowMs()
    return stillMs >= forMs
  }
}
