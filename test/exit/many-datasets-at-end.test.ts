/**
 * At the end of the process, datasets do not wait for one another. Otherwise a slow service would leave no time for
 * some.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { numbers, pipelineTo } from '../delivery/wired.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { runScript } from '../support/run-script.ts'
import { surroundings } from '../support/surroundings.ts'
import { core, environmentFor } from './running.ts'

const ends: readonly (readonly [name: string, end: (timeoutMs: number) => string])[] = [
  ['process.exit()', () => 'process.exit()'],
  ['its natural end', () => ''],
  ['close()', timeoutMs => `await shipper.close({ timeoutMs: ${timeoutMs} })`],
  ['a signal', () => `process.kill(process.pid, 'SIGTERM'); await new Promise(resolve => setTimeout(resolve, 60_000))`],
]

interface Many {
  readonly datasets: number
  readonly latencyMs: number
  readonly timeoutMs: number
}

/**
 * Runs a process that logs two events for each dataset, and ends. Returns the number of arrivals, and their datasets in
 * order.
 */
async function endWith(
  end: (timeoutMs: number) => string,
  { datasets, latencyMs, timeoutMs }: Many,
): Promise<{ count: number; places: number[] }> {
  await using emulator = await startEmulator()
  emulator.faults.latencyMs = latencyMs
  const source = `
    ${core(`dataset: event => 'd' + (event.n % ${datasets}), exitTimeoutMs: ${timeoutMs}`)}
    log(0, ${2 * datasets})
    ${end(timeoutMs)}
  `
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    env: { ...surroundings(), ...environmentFor(emulator) },
    stdio: 'inherit',
  })
  await once(child, 'close')
  const arrived = emulator.datasets()
  return {
    count: arrived.reduce((count, name) => count + emulator.eventCount(name), 0),
    places: arrived.map(name => Number(name.slice(1))),
  }
}

describe('a process with events for 500 datasets', () => {
  it.each(ends)(
    'delivers them within exitTimeoutMs, oldest first, although each request takes 60 ms: by %s',
    async (_, end) => {
      // Over four connections, it takes 7.5 s.
      const { count, places } = await endWith(end, { datasets: 500, latencyMs: 60, timeoutMs: 4000 })
      expect(count).toBe(1000)
      const furthestOff = Math.max(...places.map((place, at) => Math.abs(place - at)))
      expect(furthestOff).toBeLessThan(100) // requests of the same moment may overtake one another
    },
  )
})

describe('a process with 600 events for 300 datasets', () => {
  it.each(ends)('delivers all of them: by %s', { timeout: 40_000 }, async (_, end) => {
    expect((await endWith(end, { datasets: 300, latencyMs: 0, timeoutMs: 30_000 })).count).toBe(600)
  })
})

describe('before the end of the process', () => {
  it('the most severe events are sent first, then the oldest, in up to 32 requests at a time', async () => {
    const { log, delivery, batchQueue, sent } = pipelineTo(() => new Promise(() => {}))
    for (let n = 0; n < 100; n++) {
      log(n, { dataset: `d${n}`, severity: n === 70 ? 5 : n === 40 ? 4 : 2 })
      if (n % 10 === 0) await delay(2)
    }
    delivery.skipBackoff(1000)
    void batchQueue.flush()
    const first = sent.map(({ lines }) => numbers(lines)[0])
    expect(first).toEqual([70, 40, ...Array.from({ length: 30 }, (_, n) => n)])
  })

  it('fewer datasets get no more than maxConcurrentRequests requests at a time', async () => {
    const { log, delivery, batchQueue, sent } = pipelineTo(() => new Promise(() => {}), { maxBatchEvents: 1 })
    for (let n = 0; n < 100; n++) log(n, { dataset: `d${n % 2}` })
    delivery.skipBackoff(1000)
    void batchQueue.flush()
    expect(sent).toHaveLength(4)
  })
})

it('process.exit() compresses no more bodies once its time is up, however many datasets have events left', async () => {
  await using server = await startFaultServer(request => request.isWhole && request.answer('200 OK'), {
    keepsRequests: false,
  })
  const options = `dataset: event => 'd' + (event.n % 32), compression: 'gzip', maxBatchBytes: 2e6, maxBufferedBytes: 1e9`
  const { stdout } = await runScript(
    `import { randomBytes } from 'node:crypto'
    ${core(`${options}, exitTimeoutMs: 300`)}
    const text = randomBytes(50_000).toString('base64')
    for (let n = 0; n < 2100; n++) shipper.ship({ n, text })
    const startedAtMs = performance.now()
    process.on('exit', () => console.log(performance.now() - startedAtMs))
    process.exit()`,
    environmentFor(server),
  )
  expect(Number(stdout)).toBeGreaterThan(0)
  expect(Number(stdout)).toBeLessThan(1200) // two bodies for each dataset take more than 2 s
})
