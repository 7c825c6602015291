import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createShipper } from '../../src/index.ts'
import { delay } from '../../src/time.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** Flushes as a serverless function does after each call, and returns the bytes of the heap that are in use then. */
async function heapAfterFlushes(shipper: ReturnType<typeof createShipper>, count: number): Promise<number> {
  const flushes = Array.from({ length: count }, () => shipper.flush({ timeoutMs: 1 }))
  expect((await Promise.all(flushes)).every(({ complete }) => !complete)).toBe(true)
  await delay(20)
  gc()
  return process.memoryUsage().heapUsed
}

it('a flush that runs out of time in an outage leaves nothing in memory', async () => {
  const shipper = createShipper({ baseUrl: 'http://127.0.0.1:9', token: 'a-token-of-tests', dataset: 'd' })
  shipper.on('warning', () => {}).ship({ n: 0 })
  const before = await heapAfterFlushes(shipper, 1000)
  const after = await heapAfterFlushes(shipper, 10_000)
  await shipper.close({ timeoutMs: 0 })
  expect((after - before) / 10_000).toBeLessThan(400) // bytes for each flush; a promise with its reactions takes more
})
