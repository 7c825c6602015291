import { expect, it } from 'vitest'
import { Batch } from '../../src/batch/batch.ts'
import { BatchQueue } from '../../src/batch/batch-queue.ts'
import type { BatchStore, StoredContent } from '../../src/batch/batch-store.ts'
import { MemoryBudget } from '../../src/batch/memory-budget.ts'
import { storedCopy } from './stored-copy.ts'

const limits = {
  maxBatchBytes: 65_536,
  maxBatchAgeMs: 1000,
  batchBytesCeiling: 65_536,
  maxUnlimitedBytes: 65_536,
  maxBlockBytes: 65_536,
  maxBatchEvents: 1000,
  sealedBytes: 0,
  sealedEvents: 0,
}
const noStore: BatchStore = { isReady: true, open: () => undefined, write: () => undefined }
const ignored = () => {}

it('a reload that is begun anew while the last one still reads brings the batch back at once, and once', async () => {
  const lines = Buffer.from('{"n":1}\n')
  const severities = Uint8Array.of(2)
  const reads: PromiseWithResolvers<StoredContent>[] = []
  const copy = storedCopy(lines, severities, {
    read: () => {
      const read = Promise.withResolvers<StoredContent>()
      reads.push(read)
      return read.promise
    },
  })
  const memory = new MemoryBudget(1_048_576, 65_536)
  const listeners = {
    onReady: ignored,
    onLost: ignored,
    onFound: ignored,
    onUnreadable: ignored,
    onSpooled: ignored,
    onRoom: ignored,
  }
  const queue = new BatchQueue({ ...limits }, memory, listeners, noStore)
  queue.adopt([Batch.stored('d', severities, lines.length, copy, memory)])
  queue.dequeue(0)
  queue.enterSyncMode() // the process ends, but goes on: it ignores the signal
  queue.leaveSyncMode()
  queue.dequeue(0)
  for (const read of reads) {
    read.resolve({ lines, severities, lost: 0 })
    await read.promise
    await new Promise(setImmediate)
  }
  expect(reads.length).toBe(2)
  const batch = queue.dequeue(0)
  expect([...(batch?.lines() ?? [])]).toEqual(['{"n":1}'])
  expect(queue.takeAll()).toEqual([])
})
