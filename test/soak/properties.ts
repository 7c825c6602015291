import { runProgram } from '../support/run-script.ts'
import { brokenOf, type Figures } from './figures.ts'

/**
 * Folders and files with properties that hold for any input, with log calls of large graphs and at the end of the stack, and
 * with simulated processes that share a license or recover from an outage.
 */
const tests = [
  'test/delivery/accounting.test.ts',
  'test/delivery/rate-limiter-live.test.ts',
  'test/delivery/recovery.test.ts',
  'test/dev/edit-query.test.ts',
  'test/dev/page-text.test.ts',
  'test/dev/query.test.ts',
  'test/emulator/json-text.test.ts',
  'test/exit/out-of-stack.test.ts',
  'test/fields',
  'test/log-call.test.ts',
  'test/noise/noise-model.test.ts',
  'test/org/fleet-simulation.test.ts',
  'test/org/simulation.test.ts',
  'test/record',
  'test/spool/model.test.ts',
  'test/spool/reading.test.ts',
  'test/spool/segment-format.test.ts',
  'test/usage/usage-meter.test.ts',
]

/** Tries so many inputs for each property of `npm test`, from new seeds, and the cases that are only for `npm run soak`. */
export async function properties(runs: number): Promise<Figures> {
  const timeouts = ['--testTimeout', '3600000']
  const { code, stdout, stderr } = await runProgram('npx', ['vitest', 'run', ...timeouts, ...tests], {
    HOME: process.env.HOME ?? '/',
    NO_COLOR: '1',
    LOGFERRY_SOAK_RUNS: String(runs),
  })
  const passed = Number(/Tests .*?(\d+) passed/.exec(stdout)?.[1] ?? 0)
  if (code !== 0) console.error(stdout, stderr)
  return {
    events: 0,
    lost: 0,
    twice: 0,
    requests: 0,
    notes: `${passed} tests passed`,
    broken: brokenOf({ 'every property holds': code === 0 && passed > 0 }),
  }
}
