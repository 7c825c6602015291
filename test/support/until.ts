import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until `holds` returns true. Fails with `what` after the timeout. */
export async function until(holds: () => boolean, what: string, timeoutMs = 10_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadlineMs) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`)
    await sleep(10)
  }
}
