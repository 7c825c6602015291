import { expect, it } from 'vitest'
import { Batch } from '../../src/batch/batch.ts'
import { storedCopy } from '../batch/stored-copy.ts'
import { pipelineTo } from '../delivery/wired.ts'

it('events on disk alone wait no longer than requests have to, even if no other event comes', async () => {
  const copy = storedCopy(Buffer.from('{"n":1}\n'), Uint8Array.of(2), {
    readNow: () => ({ lines: Buffer.alloc(0), severities: new Uint8Array(), lost: 1 }),
  })
  const { batchQueue, delivery, memory } = pipelineTo(() => new Promise(() => {}), {
    openSpool: () => ({ spool: { open: () => undefined, write: () => undefined } }) as never,
  })
  expect(batchQueue.wakeAtMs()).toBe(Number.POSITIVE_INFINITY)
  batchQueue.queueFor('d').putIntoStored(Batch.stored('d', new Uint8Array([2]), 8, copy, memory))
  expect(batchQueue.wakeAtMs()).toBe(0)
  batchQueue.dequeue(0)
  expect(batchQueue.wakeAtMs()).toBe(Number.POSITIVE_INFINITY) // until the batch has been read
  await expect.poll(() => delivery.inFlight).toBe(1)
})
