/** An outage with many datasets: what waits in the spool takes little memory, and giving it up holds nothing up. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { nodeDisk } from '../../src/spool/disk.ts'
import { startShipping } from '../support/shipping.ts'
import { until } from '../support/until.ts'

/** The size of the spool of most tests. */
const datasets = 1000
const MiB = 1_048_576

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

async function memory(): Promise<{ heapUsed: number; arrayBuffers: number }> {
  for (let i = 0; i < 3; i++) {
    collectGarbage()
    await new Promise(setImmediate)
  }
  return process.memoryUsage()
}

let directory: string
beforeEach(() => {
  directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-waiting-')), 'spool')
})
afterEach(() => fs.rmSync(join(directory, '..'), { recursive: true }))

/** Logs one event for each dataset while the service is unavailable. Nearly all of them wait in the spool. */
async function outage({ events = datasets, beforeEachEvent = () => {} } = {}) {
  const shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const shipper = shipping.ship({
    spool: { directory },
    dataset: ({ n }) => `d${n}`,
    maxBatchBytes: 65_536,
    maxBufferedBytes: 524_288,
  })
  for (let n = 0; n < events; n++) {
    beforeEachEvent()
    shipper.ship({ level: 'info', n })
    if (n % 100 === 0) await new Promise(setImmediate)
  }
  return Object.assign(shipping, { shipper })
}

it('a batch that waits in the spool keeps no part of a pool of buffers, which the application uses, too', async () => {
  const before = await memory()
  await using _ = await outage({ beforeEachEvent: () => Buffer.from('x'.repeat(20_000)) })
  const { arrayBuffers } = await memory()
  expect(arrayBuffers - before.arrayBuffers).toBeLessThan(4 * MiB) // a pool has 8 to 64 KiB: 8 to 64 MiB for all
})

it('flush() that runs out of time again and again takes no memory for each batch', { timeout: 120_000 }, async () => {
  await using outaged = await outage()
  const { shipper } = outaged
  await shipper.flush({ timeoutMs: 1 })
  const before = await memory()
  for (let n = 0; n < 100; n++) expect(await shipper.flush({ timeoutMs: 1 })).toMatchObject({ complete: false })
  expect((await memory()).heapUsed - before.heapUsed).toBeLessThan(2 * MiB) // 20 bytes for each flush and batch
  outaged.emulator.faults.clear()
  expect(await shipper.flush({ timeoutMs: 90_000 })).toEqual({ complete: true, pending: 0 })
})

it('events are read back into two buffers, which all batches use in turn', async () => {
  const read = vi.spyOn(nodeDisk, 'read')
  onTestFinished(() => read.mockRestore())
  await using outaged = await outage()
  outaged.emulator.faults.clear()
  expect(await outaged.shipper.flush({ timeoutMs: 30_000 })).toEqual({ complete: true, pending: 0 })
  expect(read.mock.calls.length).toBeGreaterThan(datasets / 2)
  const contents = await Promise.all(read.mock.results.map(({ value }) => value as Promise<Buffer>))
  expect(new Set(contents.map(({ buffer }) => buffer)).size).toBeLessThanOrEqual(2)
  for (const n of [0, 7, 999]) expect(outaged.emulator.events(`d${n}`)).toMatchObject([{ n }])
})

it('close() hands off waiting events in several turns of the event loop', async () => {
  await using outaged = await outage()
  const { shipper } = outaged
  const seen = new Set<number>()
  const look = setInterval(() => seen.add(shipper.stats().spool?.handedOff ?? 0), 0)
  expect(await shipper.close({ timeoutMs: 0 })).toEqual({ complete: false, pending: datasets })
  clearInterval(look)
  expect(seen.size).toBeGreaterThan(2)
  expect(shipper.stats()).toMatchObject({ accepted: datasets, pending: datasets, dropped: 0 })
  await until(() => shipper.stats().bufferedBytes === 0, 'the reads that were under way have ended')
  expect(outaged.warnings.map(({ message }) => message)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^logferry: 1000 events could not be delivered/)]),
  )
})

it('close() ends although the application goes on logging, and the disk is slower than that', async () => {
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const builtin = process.getBuiltinModule('node:fs')
  const { openSync } = builtin
  using _ = vi.spyOn(builtin, 'openSync').mockImplementation((path, ...given) => {
    for (const endMs = performance.now() + 6; performance.now() < endMs; );
    return openSync(path, ...given)
  })
  const shipper = shipping.ship({ spool: { directory } })
  let isLogging = true
  const log = (): void => {
    shipper.ship({ level: 'info' })
    if (isLogging) setImmediate(log)
  }
  log()
  onTestFinished(() => {
    isLogging = false
  })
  await until(() => shipper.stats().pending > 10, 'events wait')
  const closed = shipper.close({ timeoutMs: 50 })
  expect(await Promise.race([closed, delay(3000, 'not closed')])).toMatchObject({ complete: false })
  const { spool, pending } = shipper.stats()
  expect([pending > 10, spool?.handedOff]).toEqual([true, pending])
})
