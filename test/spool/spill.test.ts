import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Shipper, ShipperOptions } from '../../src/index.ts'
import { LogferryLogRecordProcessor } from '../../src/otel.ts'
import { startShipping } from '../support/shipping.ts'

let directory: string
beforeEach(() => {
  directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-spill-')), 'spool')
})
afterEach(() => {
  vi.restoreAllMocks()
  fs.rmSync(join(directory, '..'), { recursive: true })
})

const KiB = 1024
const maxBufferedBytes = 1024 * KiB
const datasets = 300
const events = 1600
const pad = 'x'.repeat(300)

function options(more: ShipperOptions = {}): ShipperOptions {
  return {
    spool: { directory },
    dataset: ({ n }) => `d${(Number(n) * 7919) % datasets}`,
    maxBatchBytes: 64 * KiB,
    maxBufferedBytes,
    maxRetryDelayMs: 50,
    ...more,
  }
}

/** Counts the files created from now on. Each creation takes so many milliseconds. */
function filesMade(eachMs = 0): () => number {
  const { openSync } = process.getBuiltinModule('node:fs')
  let count = 0
  const spy = vi.spyOn(process.getBuiltinModule('node:fs'), 'openSync')
  spy.mockImplementation((path, flags, mode) => {
    if (typeof flags === 'number' && (flags & fs.constants.O_CREAT) !== 0) {
      count++
      for (const untilMs = performance.now() + eachMs; performance.now() < untilMs; );
    }
    return openSync(path, flags, mode)
  })
  return () => count
}

async function expectAllDelivered(
  shipping: Awaited<ReturnType<typeof startShipping>>,
  shipper: Shipper,
  count: number,
): Promise<void> {
  shipping.emulator.faults.clear()
  expect(await shipper.flush({ timeoutMs: 60_000 })).toEqual({ complete: true, pending: 0 })
  const { emulator } = shipping
  const numbers = emulator.datasets().flatMap(name => emulator.events(name).map(({ n }) => n as number))
  expect(numbers.sort((one, other) => one - other)).toEqual(Array.from({ length: count }, (_, n) => n))
  expect(shipper.stats()).toMatchObject({ accepted: count, delivered: count, dropped: 0, bufferedBytes: 0 })
}

describe.each(['memory', 'disk'] as const)(
  'while batches of hundreds of datasets fill memory (durability %s)',
  durability => {
    it.each([
      ['in one turn of the event loop', events],
      ['in many turns', 20],
    ])('a log call creates at most two files, and no event is dropped: logged %s', async (_, eventsPerTurn) => {
      await using shipping = await startShipping()
      shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
      const shipper = shipping.ship(options({ durability }))
      shipper.ship({ level: 'info', n: 0, pad }) // makes the directory as well
      const count = filesMade()
      let [most, maxBuffered] = [0, 0]
      for (let n = 1; n < events; n++) {
        const before = count()
        shipper.ship({ level: n % 3 ? 'debug' : 'info', n, pad })
        most = Math.max(most, count() - before)
        maxBuffered = Math.max(maxBuffered, shipper.stats().bufferedBytes)
        if (n % eventsPerTurn === 0) await nextTurn()
      }
      expect(most).toBeLessThanOrEqual(2)
      expect(maxBuffered).toBeLessThanOrEqual(maxBufferedBytes)
      expect(shipper.stats()).toMatchObject({ accepted: events, dropped: 0 })
      await expectAllDelivered(shipping, shipper, events)
    })
  },
)

it('a large batch finds room among small ones, with at most two files', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const shipper = shipping.ship(options())
  for (let n = 0; n < datasets; n++) shipper.ship({ level: 'info', n })
  const count = filesMade()
  shipper.ship({ level: 'info', n: datasets, pad: 'x'.repeat(60 * KiB) })
  expect(count()).toBeLessThanOrEqual(2)
  await expectAllDelivered(shipping, shipper, datasets + 1)
})

it('between log calls, batches spill to the store until memory has room for new ones', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const shipper = shipping.ship(options())
  for (let n = 0; n < datasets; n++) shipper.ship({ level: 'info', n })
  expect(shipper.stats().bufferedBytes).toBeGreaterThan(0.65 * maxBufferedBytes)
  await expect.poll(() => shipper.stats().bufferedBytes).toBeLessThan(0.63 * maxBufferedBytes)
  await expectAllDelivered(shipping, shipper, datasets)
})

it('batches also spill if growing batches fill memory', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const shipper = shipping.ship(options({ dataset: ({ n }) => `d${Number(n) % 60}` }))
  const count = 60 * 32
  for (let n = 0; n < count; n++) shipper.ship({ level: 'info', n, pad })
  expect(shipper.stats().bufferedBytes).toBeGreaterThan(0.8 * maxBufferedBytes)
  await expect.poll(() => shipper.stats().bufferedBytes).toBeLessThan(0.63 * maxBufferedBytes)
  await expectAllDelivered(shipping, shipper, count)
})

it('if events that close() left fill the spool, new events do not replace one another', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const shipper = shipping.ship({
    ...options({ dataset: 'd', spool: { directory, maxBytes: 300_000 } }),
    maxBufferedBytes: 128 * KiB,
    maxBatchBytes: 16 * KiB,
  })
  const count = filesMade()
  for (let round = 0; round < 3; round++) {
    const before = count()
    for (let n = 0; n < 1500; n++) shipper.ship({ level: 'info', n, pad })
    expect(count() - before).toBeLessThan(200)
    await shipper.close({ timeoutMs: 0 })
  }
  expect(shipper.stats().pending).toBeGreaterThan(500)
})

it('close() leaves hundreds of batches in the spool without blocking the event loop', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const shipper = shipping.ship(options({ maxBufferedBytes: 16 * maxBufferedBytes }))
  for (let n = 0; n < datasets; n++) shipper.ship({ level: 'info', n })
  const count = filesMade(1)
  let most = 0
  let isClosed = false
  const closed = shipper.close({ timeoutMs: 0 }).finally(() => {
    isClosed = true
  })
  while (!isClosed) {
    const before = count()
    await nextTurn()
    most = Math.max(most, count() - before)
  }
  expect(await closed).toEqual({ complete: false, pending: datasets })
  expect(shipper.stats()).toMatchObject({ dropped: 0, spool: { handedOff: datasets } })
  await expect.poll(() => shipper.stats().bufferedBytes).toBe(0) // a segment that was being read is released
  expect(count()).toBeGreaterThan(0.8 * datasets)
  expect(most).toBeLessThan(40) // the requests in flight come last, in one turn
})

it('records that wait for their resource are released once other batches have spilled, even if nothing is delivered', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const dataset = ({ small, attributes }: Record<string, unknown>) =>
    attributes === undefined ? (small === undefined ? 'large' : `small${small}`) : 'held'
  const shipper = shipping.ship(options({ dataset, durability: 'memory' }))
  const processor = new LogferryLogRecordProcessor({ shipper })
  const attributes = Promise.withResolvers<void>()
  const resource = {
    attributes: {},
    asyncAttributesPending: true,
    waitForAsyncAttributes: () => attributes.promise,
  }
  const held = 50
  for (let n = 0; n < held; n++) {
    processor.onEmit({
      hrTime: [1_700_000_000, n],
      hrTimeObserved: [1_700_000_000, n],
      body: `held ${n};`,
      attributes: { n },
      droppedAttributesCount: 0,
      instrumentationScope: { name: 'test' },
      resource,
    } as never)
  }
  for (let n = 0; n < 440; n++) shipper.ship({ level: 'info', pad: 'x'.repeat(KiB) })
  for (let small = 0; small < 60; small++) shipper.ship({ level: 'info', small })
  expect(shipper.stats().bufferedBytes).toBeGreaterThan(0.6 * maxBufferedBytes)
  expect(shipper.usage().events).toBe(500) // records count when they are released
  resource.asyncAttributesPending = false
  attributes.resolve()
  await expect.poll(() => shipper.usage().events).toBe(500 + held)
})
