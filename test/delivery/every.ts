import type { Lease } from '../../src/delivery/rate-limiter.ts'

/** Returns a slot at `firstSlotMs`, and another one every `periodMs` after it. */
export function every(periodMs: number, firstSlotMs = 0): Lease {
  return {
    perSecond: 1000 / periodMs,
    maxPerSecond: Math.ceil(1000 / periodMs) + 1,
    slotMs: periodMs,
    nextMs: fromMs => firstSlotMs + Math.max(Math.ceil((fromMs - firstSlotMs) / periodMs), 0) * periodMs,
  }
}
