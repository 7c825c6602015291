import { expect, it } from 'vitest'
import type { StoredBatch } from '../../src/batch/batch-store.ts'
import type { AdoptedBatch, AdopterListeners } from '../../src/spool/adoption.ts'
import { Spool } from '../../src/spool/spool.ts'
import { FakeDisk } from './fake-disk.ts'

const files = 20_000
/** Maximum number of segments held: those that stand for a batch at a time, and those that are adopted together. */
const maxHeld = 4096 + 1024

const disk = new FakeDisk()
const listeners = { makeRoom: () => false, onTrouble() {}, onRetry() {}, onFull() {}, onVanished() {}, onMore() {} }
const openSpool = (more: object = {}) =>
  new Spool(
    { directory: '/spool', maxBytes: 1_073_741_824, destination: 'x', isWriteThrough: false },
    disk.mount().disk,
    { ...listeners, ...more },
  )

it('orphaned files are adopted a limited number at a time, and all of them in the end', async () => {
  const leaving = openSpool()
  const line = Buffer.from('{"a":1}\n')
  for (let n = 0; n < files; n++) leaving.write(`d${n}`, line, Uint8Array.of(2))?.handOff()
  leaving.close()

  const datasets: string[] = []
  const held: StoredBatch[] = []
  const take: AdopterListeners = {
    isTooLarge: () => false,
    onAdopted(inherited: readonly AdoptedBatch[]) {
      for (const { dataset, copy } of inherited) {
        datasets.push(dataset)
        held.push(copy)
      }
      expect(held.length).toBeLessThanOrEqual(maxHeld)
    },
    onLost: lost => expect.unreachable(`${lost.count} lost`),
    onRefused: () => expect.unreachable('refused'),
    onSetAside: () => expect.unreachable('set aside'),
    onUnreadable: error => expect.unreachable(String(error)),
    onForeign: () => expect.unreachable(),
  }
  const heir = openSpool({ onMore: () => void heir.adoptOrphans(take) })
  expect(await heir.adoptOrphans(take)).toBe(true)
  expect(datasets.length).toBeLessThan(files)
  const deliver = () => {
    for (const copy of held.splice(0, held.length / 2 + 1024)) copy.remove()
    return datasets.length
  }
  await expect.poll(deliver, { timeout: 10_000 }).toBe(files)
  expect(datasets).toEqual(Array.from({ length: files }, (_, n) => `d${n}`))
  for (const copy of held) copy.remove()
  heir.close()
  expect(disk.images('seen').size).toBe(0)
})
