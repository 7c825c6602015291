import { describe, expect, it, vi } from 'vitest'
import type { StoredBatch } from '../../src/batch/batch-store.ts'
import type { AdoptedBatch, SetAside } from '../../src/spool/adoption.ts'
import { Spool } from '../../src/spool/spool.ts'
import { FakeDisk } from './fake-disk.ts'

const listeners = { makeRoom: () => false, onTrouble() {}, onRetry() {}, onFull() {}, onVanished() {}, onMore() {} }
const options = { directory: '/spool', maxBytes: 1_073_741_824, destination: 'x', isWriteThrough: false }

const files = 10
const line = Buffer.from(`{"text":"${'x'.repeat(990)}"}\n`)
const lines = 3000

it('orphaned files that are larger than usual batches are read one after the other into one buffer', async () => {
  const disk = new FakeDisk()
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
    onSetAside: () => expect.unreachable('set aside'),
    onUnreadable: error => expect.unreachable(String(error)),
    onForeign: () => expect.unreachable(),
  })
  expect(adopted.map(({ byteLength }) => byteLength)).toEqual(Array(files).fill(batch.length))
  expect(allocate.mock.calls.filter(([bytes]) => bytes > batch.length).length).toBe(1)
  expect(copy.mock.calls.filter(([bytes]) => Buffer.isBuffer(bytes) && bytes.length > batch.length)).toEqual([])
  for (const { copy } of adopted) copy.remove()
  heir.close()
})

describe('a file with hundreds of thousands of lines, as another program may have written, is read in many turns', () => {
  const count = 500_000
  const write = (line: string) => {
    const { disk } = new FakeDisk().mount()
    const spool = new Spool(options, disk, listeners)
    const lines = Buffer.alloc(count * line.length, line)
    const stored = spool.write('d', lines, new Uint8Array(count).fill(2)) as StoredBatch
    return { disk, spool, stored }
  }

  it('when a batch returns to memory', async () => {
    const { stored } = write('{}\n')
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const { severities } = await stored.read(Buffer.alloc(0))
    clearInterval(timer)
    expect(severities.length).toBe(count)
    expect(turns).toBeGreaterThan(10)
  })

  it('when it is adopted, although no line may be sent', async () => {
    const { disk, spool, stored } = write('[]\n')
    stored.handOff()
    spool.close()
    let turn = 0
    const timer = setInterval(() => turn++, 1)
    const turnsOfRefused = new Set<number>()
    const setAside: SetAside[] = []
    let lost = 0
    const heir = new Spool(options, disk, listeners)
    await heir.adoptOrphans({
      isTooLarge: () => false,
      onAdopted: () => expect.unreachable('adopted'),
      onLost: ({ count }) => {
        lost += count
      },
      onRefused: ({ line }) => {
        turnsOfRefused.add(turn)
        return line === '[]\n'
      },
      onSetAside: one => setAside.push(one),
      onUnreadable: error => expect.unreachable(String(error)),
      onForeign: () => expect.unreachable(),
    })
    clearInterval(timer)
    expect(turnsOfRefused.size).toBeGreaterThan(10)
    expect(setAside).toEqual([{ count, unkept: 0, reason: 'it is not one JSON object on one line' }])
    expect(lost).toBe(count)
    heir.close()
  })
})
