import { expect, it, vi } from 'vitest'
import type { AdoptedBatch } from '../../src/spool/adoption.ts'
import { Spool } from '../../src/spool/spool.ts'
import { FakeDisk } from './fake-disk.ts'

const files = 10
const line = Buffer.from(`{"text":"${'x'.repeat(990)}"}\n`)
const lines = 3000

it('orphaned files that are larger than usual batches are read one after the other into one buffer', async () => {
  const disk = new FakeDisk()
  const listeners = { makeRoom: () => false, onTrouble() {}, onRetry() {}, onFull() {}, onVanished() {}, onMore() {} }
  const options = { directory: '/spool', maxBytes: 1_073_741_824, destination: 'x', isWriteThrough: false }
  const open = () => new Spool(options, disk.mount().disk, listeners)
  const leaving = open()
  const batch = Buffer.concat(Array(lines).fill(line))
  for (let n = 0; n < files; n++) leaving.write('d', batch, new Uint8Array(lines).fill(2))?.handOff()
  leaving.close()

  const adopted: AdoptedBatch[] = []
  const heir = open()
  using allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
  using copy = vi.spyOn(Buffer, 'from')
  await heir.adoptOrphans({
    isTooLarge: () => false,
    onAdopted: batches => adopted.push(...batches),
    onLost: ({ count }) => expect.unreachable(`${count} lost`),
    onRefused: () => expect.unreachable('refused'),
    onUnreadable: error => expect.unreachable(String(error)),
    onForeign: () => expect.unreachable(),
  })
  expect(adopted.map(({ byteLength }) => byteLength)).toEqual(Array(files).fill(batch.length))
  expect(allocate.mock.calls.filter(([bytes]) => bytes > batch.length).length).toBe(1)
  expect(copy.mock.calls.filter(([bytes]) => Buffer.isBuffer(bytes) && bytes.length > batch.length)).toEqual([])
  for (const { copy } of adopted) copy.remove()
  heir.close()
})
