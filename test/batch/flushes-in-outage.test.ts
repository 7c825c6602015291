import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, expect, it } from 'vitest'
import { createShipper, type Shipper } from '../../src/index.ts'
import { delay } from '../../src/time.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Flushes as a serverless function does after each call, and returns the bytes of the heap that are in use then. */
async function heapAfterFlushes(shipper: Shipper, log: (shipper: Shipper) => void, count: number): Promise<number> {
  const flushes = Array.from({ length: count }, () => {
    log(shipper)
    return shipper.flush({ timeoutMs: 1 })
  })
  expect((await Promise.all(flushes)).every(({ complete }) => !complete)).toBe(true)
  await delay(20)
  gc()
  return process.memoryUsage().heapUsed
}

/** The second event is held back until the next flush. */
function logTwice(shipper: Shipper): void {
  for (let n = 0; n < 2; n++) shipper.ship({ message: 'the same' })
}

const smallMemory = { collapse: { windowMs: 60_000 }, maxBufferedBytes: 8_388_608 }

function fillMemory(shipper: Shipper): void {
  for (let n = 0; n < 2; n++) shipper.ship({ level: 'error', message: 'the same' })
  const text = 'x'.repeat(10_000)
  for (let n = 0; n < 700; n++) shipper.ship({ level: 'error', message: text, n: String(n) })
}

const parent = mkdtempSync(join(tmpdir(), 'logferry-flushes-'))
afterAll(() => rmSync(parent, { recursive: true }))

it.each([
  ['', {}, () => {}],
  [' with a spool', { spool: { directory: join(parent, 'spool') } }, () => {}],
  [' of events that are held back', { collapse: { windowMs: 60_000 } }, logTwice],
  [' of events that are held back, and for which memory has no room,', smallMemory, () => {}, fillMemory],
])('a flush%s that runs out of time in an outage leaves nothing in memory', async (_, options, log, prepare = log) => {
  const shipper = createShipper({ baseUrl: 'http://127.0.0.1:9', token: 'a-token-of-tests', dataset: 'd', ...options })
  shipper.on('warning', () => {}).ship({ n: 0 })
  prepare(shipper)
  const before = await heapAfterFlushes(shipper, log, 1000)
  const after = await heapAfterFlushes(shipper, log, 10_000)
  await shipper.close({ timeoutMs: 0 })
  expect((after - before) / 10_000).toBeLessThan(400) // bytes for each flush; a promise with its reactions takes more
})
