import { setTimeout as sleep } from 'node:timers/promises'
import type { Emulator } from '../../src/emulator.ts'

/**
 * Lets the service accept events again after `close({ timeoutMs: 0 })`. A request that was broken off may arrive a moment
 * later: if the service accepted it, its events would arrive twice.
 */
export async function upAfterClose(emulator: Emulator): Promise<void> {
  await sleep(200)
  emulator.faults.clear()
}
