import { describe, expect, it } from 'vitest'
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
const lines = Buffer.from('{"n":1}\n')
const severities = Uint8Array.of(2)

function queueOf(memory: MemoryBudget) {
  const listeners = {
    onReady: ignored,
    onLost: ignored,
    onFound: ignored,
    onUnreadable: ignored,
    onSpooled: ignored,
    onRoom: ignored,
  }
  return new BatchQueue({ ...limits }, memory, listeners, noStore)
}

it('a reload that is begun anew while the last one still reads brings the batch back at once, and once', async () => {
  const reads: PromiseWithResolvers<StoredContent>[] = []
  const copy = storedCopy(lines, severities, {
    read: () => {
      const read = Promise.withResolvers<StoredContent>()
      reads.push(read)
      return read.promise
    },
  })
  const memory = new MemoryBudget(1_048_576, 65_536)
  const queue = queueOf(memory)
  queue.adopt([Batch.stored('d', severities, lines.length, copy, memory)])
  queue.dequeue(0)
  queue.enterSyncMode() // the process ends, but goes on: it ignores the signal
  queue.leaveSyncMode()
  queue.dequeue(0)
  for (const read of reads) {
    read.resolve({ lines, severities })
    await read.promise
    await new Promise(setImmediate)
  }
  expect(reads.length).toBe(2)
  const batch = queue.dequeue(0)
  expect([...(batch?.lines() ?? [])]).toEqual(['{"n":1}'])
  expect(queue.takeAll()).toEqual([])
})

describe('a batch whose last attempt failed before it moved to the store', () => {
  const memory = new MemoryBudget(1_048_576, 65_536)
  const failedUntil = (notBeforeMs: number, order: string) => {
    const batch = Batch.stored('d', severities, lines.length, storedCopy(lines, severities, { order }), memory)
    batch.attempts.begin(0, Number.NEGATIVE_INFINITY)
    batch.attempts.delayUntil(notBeforeMs)
    return batch
  }
  const nextAfterReload = async (queue: BatchQueue) => {
    queue.dequeue(0)
    await new Promise(setImmediate)
    return queue.dequeue(0)
  }

  it('is sent again at once if there is no time to wait', async () => {
    const queue = queueOf(memory)
    queue.adopt([failedUntil(30_000, '1')])
    queue.skipBackoff()
    expect((await nextAfterReload(queue))?.count).toBe(1)
  })

  it('is sent again at once if it is being reloaded when the time runs out', async () => {
    const queue = queueOf(memory)
    queue.adopt([failedUntil(30_000, '1')])
    queue.dequeue(0)
    queue.skipBackoff()
    expect((await nextAfterReload(queue))?.count).toBe(1)
  })

  it('waits as long as before if it is reloaded together with an older batch', async () => {
    const queue = queueOf(memory)
    queue.adopt([failedUntil(0, '1'), failedUntil(30_000, '2')])
    expect(await nextAfterReload(queue)).toBeUndefined()
    expect(queue.dequeue(30_000)?.count).toBe(2)
  })
})

it('a dataset of which every event is gone from the store is forgotten', async () => {
  const none = { lines: Buffer.alloc(0), severities: new Uint8Array() }
  const memory = new MemoryBudget(1_048_576, 65_536)
  const queue = queueOf(memory)
  queue.adopt([
    Batch.stored('d', severities, lines.length, storedCopy(lines, severities, { read: async () => none }), memory),
  ])
  queue.dequeue(0)
  await new Promise(setImmediate)
  expect([queue.batchCount, queue.datasetCount]).toEqual([0, 0])
})
