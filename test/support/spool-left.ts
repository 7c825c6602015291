import { core, environmentFor } from '../exit/running.ts'
import { startFaultServer } from './fault-server.ts'
import { type Ended, runScript } from './run-script.ts'

/** Runs a process that logs so many events to a spool while nobody listens, and ends by `process.exit()`. */
export async function leaveInSpool(directory: string, count: number, prelude = ''): Promise<Ended> {
  const nobody = await startFaultServer(() => {})
  await nobody.close()
  const options = `spool: { directory: ${JSON.stringify(directory)} }, durability: 'disk', exitTimeoutMs: 100`
  return runScript(`${prelude}\n${core(options)} log(0, ${count}); process.exit()`, environmentFor(nobody))
}
