import type { Emulator } from '../../src/emulator.ts'
import { core, environmentFor } from '../exit/running.ts'
import { type Ended, runScript } from './run-script.ts'

/** Runs a process that logs `count` events to a spool while the service is down, and ends by `process.exit()`. */
export async function leaveInSpool(directory: string, count: number, emulator: Emulator, prelude = ''): Promise<Ended> {
  emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const options = `spool: { directory: ${JSON.stringify(directory)} }, durability: 'disk', exitTimeoutMs: 100`
  const ended = await runScript(
    `${prelude}\n${core(options)} log(0, ${count}); process.exit()`,
    environmentFor(emulator),
  )
  emulator.faults.clear()
  return ended
}
