import { expect, it } from 'vitest'
import type { StoredBatch } from '../../src/batch/batch-store.ts'
import { pipelineTo, retryable } from '../delivery/wired.ts'
import { cpuMs } from '../support/cpu-ms.ts'

const events = 30_000
const datasets = 5000

it('a log call stays cheap in an outage while thousands of datasets wait in memory and in the store', async () => {
  let written = 0
  const write = (_: string, __: Buffer, { length }: Uint8Array): StoredBatch => {
    let count = length
    return {
      order: String(written++),
      isComplete: true,
      exists: true,
      isOpen: true,
      hasVanished: false,
      isUnreadable: false,
      get count() {
        return count
      },
      append() {},
      extend: () => count++ >= 0,
      seal() {},
      read: () => new Promise(() => {}),
      readNow: () => ({ lines: Buffer.alloc(0), severities: new Uint8Array() }),
      handOff() {},
      remove() {},
    }
  }
  const spool = { isReady: true, open: () => undefined, write }
  const { log, delivery } = pipelineTo(() => retryable(60_000), {
    maxBatchAgeMs: 1,
    maxBufferedBytes: 32 * 1_048_576,
    openSpool: () => ({ spool, onSpooled: () => {} }) as never,
  })
  const text = 'x'.repeat(1000)
  log(0)
  await expect.poll(() => delivery.requests).toBe(1)
  let kept = 0
  const takenMs = cpuMs(() => {
    for (let n = 0; n < events; n++) if (log(n, { dataset: `d${(n * 7919) % datasets}`, text })) kept++
  })
  expect(takenMs / events).toBeLessThan(0.1)
  expect(kept).toBe(events)
  expect(written).toBeGreaterThan(500)
})
