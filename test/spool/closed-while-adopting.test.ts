import { expect, it } from 'vitest'
import { NativePromise } from '../../src/native-promise.ts'
import type { AdopterListeners } from '../../src/spool/adoption.ts'
import type { Disk } from '../../src/spool/disk.ts'
import { Spool } from '../../src/spool/spool.ts'
import { FakeDisk } from './fake-disk.ts'

const fakeDisk = new FakeDisk()
const listeners = { makeRoom: () => false, onTrouble() {}, onRetry() {}, onFull() {}, onVanished() {}, onMore() {} }
const openSpool = (disk: Disk) =>
  new Spool({ directory: '/spool', maxBytes: 1_073_741_824, destination: 'x', isWriteThrough: false }, disk, listeners)

/** Leaves a directory with a segment of each dataset, as a process does that has ended. */
function leave(...datasets: readonly string[]): void {
  const leaving = openSpool(fakeDisk.mount().disk)
  for (const dataset of datasets) leaving.write(dataset, Buffer.from('{"a":1}\n'), Uint8Array.of(2))?.handOff()
  leaving.close()
}

it('the next adoption after close() adopts every segment, however late the disk answers the one before', async () => {
  leave('a', 'b', 'c')
  leave('a', 'b', 'c')
  const { disk } = fakeDisk.mount()
  const slow = NativePromise.withResolvers<void>()
  let slowDirectory: string | undefined
  /** The first directory is listed late: when the next adoption has listed the other one. */
  const list: Disk['list'] = async (path, ...others) => {
    const entries = await disk.list(path, ...others)
    if (path === '/spool') return entries
    slowDirectory ??= path
    if (path === slowDirectory) await slow.promise
    else slow.resolve()
    return entries
  }
  const adopted: string[] = []
  const take: AdopterListeners = {
    isTooLarge: () => false,
    onAdopted: batches => {
      adopted.push(...batches.map(({ dataset }) => dataset))
      for (const { copy } of batches) copy.remove()
    },
    onLost: lost => expect.unreachable(`${lost.count} lost`),
    onRefused: () => expect.unreachable('refused'),
    onSetAside: () => expect.unreachable('set aside'),
    onUnreadable: error => expect.unreachable(String(error)),
    onForeign: () => expect.unreachable(),
  }
  const heir = openSpool({ ...disk, list })
  const ended = heir.adoptOrphans(take)
  await expect.poll(() => slowDirectory).toBeDefined()
  heir.close()
  await heir.adoptOrphans(take)
  await ended
  await heir.adoptOrphans(take)
  expect(adopted).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  heir.close()
  expect(fakeDisk.images('seen').size).toBe(0)
})
