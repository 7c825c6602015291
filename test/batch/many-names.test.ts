/** An application that puts values into the names of datasets: the memory for these names has a bound. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { createShipper, type ShipperOptions } from '../../src/index.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { until } from '../support/until.ts'

const names = 100_000
/** 6 MB are in use at the start. At 250 to 300 bytes a name, kept names would take 25 MB. */
const fewBytes = 12 * 1_048_576

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function heapBytes(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collectGarbage()
    await new Promise(setImmediate)
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('hundreds of thousands of dataset names', () => {
  it('take no memory while memory is full, nor after close()', async () => {
    await using server = await startFaultServer(() => {})
    const maxBufferedBytes = 2 ** 20
    let name = 0
    const shipper = createShipper({
      baseUrl: server.url,
      token: 'some-token',
      dataset: () => `dataset-of-${name++}`,
      maxBufferedBytes,
      maxBatchBytes: 65_536,
      onRejected: () => {},
    })
    shipper.on('warning', () => {})
    const before = await heapBytes()
    for (let n = 0; n < names; n++) {
      shipper.ship({ level: 'fatal', n })
      if (n % 50_000 === 0) await new Promise(setImmediate)
    }
    expect(shipper.stats().bufferedBytes).toBeGreaterThan(0.9 * maxBufferedBytes)
    expect((await heapBytes()) - before).toBeLessThan(fewBytes)
    await shipper.close({ timeoutMs: 10 })
    expect(shipper.stats()).toMatchObject({ accepted: names, dropped: names, pending: 0, bufferedBytes: 0 })
    expect((await heapBytes()) - before).toBeLessThan(fewBytes)
  }, 60_000)

  it('are paused within the memory budget if the service refuses them, and forgotten with their events', async () => {
    await using emulator = await startEmulator()
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 404 })
    let name = 0
    const shipper = createShipper({
      baseUrl: emulator.url,
      token: emulator.token,
      dataset: () => `dataset-of-${name++}`,
      maxBufferedBytes: 2 ** 20,
      maxBatchBytes: 65_536,
      maxBatchAgeMs: 1,
    })
    shipper.on('warning', () => {})
    const before = await heapBytes()
    for (let n = 0; n < 100_000; n++) {
      shipper.ship({ level: 'fatal', n })
      if (n % 100 === 0) await new Promise(setImmediate)
    }
    await until(() => shipper.stats().requestsInFlight === 0, 'all have been refused')
    expect((await heapBytes()) - before).toBeLessThan(2 * fewBytes)
    await shipper.close({ timeoutMs: 10 })
    expect(shipper.stats()).toMatchObject({ accepted: 100_000, dropped: 100_000, pending: 0, bufferedBytes: 0 })
  }, 60_000)
})

describe('names of datasets and times that are parts of long texts', () => {
  it.each<[string, ShipperOptions]>([
    ['in outages', {}],
    ['with rules for fields', { fields: {} }],
    ['of held events', { hold: { below: 'error', trigger: 'error' } }],
    ['of repeated events', { collapse: { windowMs: 60_000 } }],
    ['with limits', { limits: { orgId: 'o', accessToken: 't' } }],
  ])('keep no text in memory %s', async (_, options) => {
    await using server = await startFaultServer(() => {})
    const shipper = createShipper({
      baseUrl: server.url,
      token: 'some-token',
      dataset: ({ tenant }) => String(tenant),
      transform: ({ path, ...event }) => ({ ...event, tenant: String(path).slice(0, 20) }),
      ...options,
    })
    shipper.on('warning', () => {})
    const before = await heapBytes()
    for (let n = 0; n < 100; n++) {
      const path = Buffer.from(`tenants-number-${10_000 + n}/${'x'.repeat(500_000)}`).toString()
      for (let repeated = 0; repeated < 2; repeated++)
        shipper.ship({ path, message: 'm', trace_id: `t-${n}`, _time: path.slice(0, 20) })
    }
    expect((await heapBytes()) - before).toBeLessThan(fewBytes)
    await shipper.close({ timeoutMs: 10 })
  })
})
