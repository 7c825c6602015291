/** At the end many datasets do not wait for one another: a service that takes its time would have no time for all. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { numbers, rowOfBatches } from '../delivery/row-of-batches.ts'
import { core, environmentFor } from './running.ts'

const datasets = 500
const latencyMs = 60
/** By four connections it takes 7.5 s. */
const timeoutMs = 4000

const ends = [
  ['process.exit()', 'process.exit()'],
  ['its natural end', ''],
  ['close()', `await shipper.close({ timeoutMs: ${timeoutMs} })`],
  ['a signal', `process.kill(process.pid, 'SIGTERM'); await new Promise(resolve => setTimeout(resolve, 60_000))`],
] as const

describe('a process with events for 500 datasets', () => {
  it.each(ends)(
    'delivers them within its time, oldest first, though each request takes 60 ms: by %s',
    async (_, end) => {
      await using emulator = await startEmulator()
      emulator.faults.latencyMs = latencyMs
      const source = `
      ${core(`dataset: event => 'd' + (event.n % ${datasets}), exitTimeoutMs: ${timeoutMs}`)}
      log(0, ${2 * datasets})
      ${end}
    `
      const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
        env: { PATH: process.env.PATH, ...environmentFor(emulator) },
        stdio: 'inherit',
      })
      await once(child, 'close')
      const arrived = emulator.datasets()
      expect(arrived.reduce((count, name) => count + emulator.eventCount(name), 0)).toBe(2 * datasets)
      const places = arrived.map(name => Number(name.slice(1)))
      const furthestOff = Math.max(...places.map((place, at) => Math.abs(place - at)))
      expect(furthestOff).toBeLessThan(100) // those of one moment may overtake one another
    },
  )
})

describe('before the end', () => {
  it('what is most severe is sent first, then what is oldest, in up to 32 requests at a time', async () => {
    const { log, delivery, batcher, sent } = rowOfBatches(() => new Promise(() => {}))
    for (let n = 0; n < 100; n++) {
      log(n, { dataset: `d${n}`, severity: n === 70 ? 5 : n === 40 ? 4 : 2 })
      if (n % 10 === 0) await delay(2)
    }
    delivery.hurry(1000)
    void batcher.flush()
    const first = sent.map(({ lines }) => numbers(lines)[0])
    expect(first).toEqual([70, 40, ...Array.from({ length: 30 }, (_, n) => n)])
  })

  it('no more than maxConcurrentRequests are made for fewer datasets', async () => {
    const { log, delivery, batcher, sent } = rowOfBatches(() => new Promise(() => {}), { maxBatchEvents: 1 })
    for (let n = 0; n < 100; n++) log(n, { dataset: `d${n % 2}` })
    delivery.hurry(1000)
    void batcher.flush()
    expect(sent).toHaveLength(4)
  })
})
