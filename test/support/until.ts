import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until something holds, and fails with `what` when it does not within the time. */
export async function until(holds: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await sleep(10)
  }
}
