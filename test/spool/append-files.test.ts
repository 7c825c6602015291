import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppendFiles } from '../../src/spool/append-files.ts'
import { type Disk, nodeDisk } from '../../src/spool/disk.ts'

let root: string
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'logferry-append-'))
})
afterEach(() => fs.rmSync(root, { recursive: true }))

const range = (count: number) => Array.from({ length: count }, (_, n) => n)
const at = (n: number) => join(root, `${n}.segment`)
const text = (n: number) => fs.readFileSync(at(n), 'utf8')

/** The real disk, with the number of descriptors that it has given, and the number that it will still give. */
function countingDisk() {
  const open = new Set<number>()
  const counts = { left: Number.POSITIVE_INFINITY, reopened: 0, most: 0 }
  const given = (descriptor: () => number): number => {
    if (open.size >= counts.left) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
    const file = descriptor()
    open.add(file)
    counts.most = Math.max(counts.most, open.size)
    return file
  }
  const disk: Disk = {
    ...nodeDisk,
    create: path => given(() => nodeDisk.create(path)),
    openNothing: () => given(() => nodeDisk.openNothing()),
    reopen(path, written) {
      counts.reopened++
      let file: number | undefined
      try {
        return given(() => {
          file = nodeDisk.reopen(path, written)
          if (file === undefined) throw new Error('gone')
          return file
        })
      } catch (error) {
        if ((error as Error).message === 'gone') return undefined
        throw error
      }
    },
    close(file) {
      open.delete(file)
      nodeDisk.close(file)
    },
  }
  return { disk, open, counts }
}

function filesOn(disk: Disk, adoptedDirectories = () => 0) {
  return new AppendFiles({ disk, adoptedDirectories })
}

const write = (file: { write(bytes: Uint8Array, length: number): boolean }, line: string) =>
  file.write(Buffer.from(`${line}...`), line.length)

describe('files written at the same time', () => {
  it('are unlimited in number, and use at most 13 descriptors, including the reserve', () => {
    const { disk, open, counts } = countingDisk()
    const files = filesOn(disk)
    const all = range(100).map(n => files.create({ path: at(n) }))
    for (const line of range(3)) for (const file of all) expect(write(file, `${line};`)).toBe(true)
    expect(range(100).map(text)).toEqual(range(100).map(() => '0;1;2;'))
    expect(counts.most).toBe(13)
    for (const file of all) file.close()
    expect(open.size).toBe(2)
    files.releaseReserve()
    expect(open.size).toBe(0)
  })

  it('are reopened only beyond the limit, and the least recently written one is closed', () => {
    const { disk, counts } = countingDisk()
    const files = filesOn(disk)
    const all = range(11).map(n => files.create({ path: at(n) }))
    for (const _ of range(10)) for (const file of all) write(file, 'x')
    expect(counts.reopened).toBe(0)
    files.create({ path: at(11) })
    for (const file of all.slice(1)) write(file, 'x')
    expect(counts.reopened).toBe(0)
    write(all[0] as never, 'x')
    expect(counts.reopened).toBe(1)
  })

  it('leave room for the locks and sockets of adopted directories', () => {
    const { disk, open } = countingDisk()
    let adopted = 0
    const files = filesOn(disk, () => adopted)
    const all = range(20).map(n => files.create({ path: at(n) }))
    adopted = 4
    files.makeRoom()
    expect(open.size).toBe(2 + 3)
    for (const file of all) expect(write(file, 'x')).toBe(true)
    expect(open.size).toBe(2 + 3)
  })

  it('are written while the process has only the reserved descriptors', () => {
    const { disk, open, counts } = countingDisk()
    const files = filesOn(disk)
    counts.left = 2 // the reserve
    const all = range(5).map(n => files.create({ path: at(n) }))
    for (const file of all) expect(write(file, 'x')).toBe(true)
    expect(open.size).toBeLessThanOrEqual(2)
    for (const file of all) file.close()
    expect([...range(5).map(text), open.size]).toEqual(['x', 'x', 'x', 'x', 'x', 2])
  })

  it('are written although a thread takes the descriptor that was given up, for a moment', () => {
    const { disk, counts } = countingDisk()
    let taken = 0
    const files = filesOn({
      ...disk,
      close(file) {
        disk.close(file)
        taken = 3
      },
      reopen(path, written) {
        if (taken-- > 0) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
        return disk.reopen(path, written)
      },
    })
    counts.left = 3 // the reserve, and one
    const all = range(5).map(n => files.create({ path: at(n) }))
    for (const file of all) expect(write(file, 'x')).toBe(true)
    expect(range(5).map(text)).toEqual(['x', 'x', 'x', 'x', 'x'])
  })

  it('are written as a whole if the disk takes a few bytes at a time', () => {
    const disk: Disk = {
      ...nodeDisk,
      write: (file, bytes, from, to) => nodeDisk.write(file, bytes, from, Math.min(from + 3, to)),
    }
    expect(write(filesOn(disk).create({ path: at(0) }), 'whole text')).toBe(true)
    expect(text(0)).toBe('whole text')
  })

  it('fail without further harm if no descriptor is available', () => {
    const { disk, counts } = countingDisk()
    counts.left = 0
    const files = filesOn(disk)
    expect(() => files.create({ path: at(0) })).toThrow(/EMFILE/)
    counts.left = 1
    expect(write(files.create({ path: at(1) }), 'x')).toBe(true)
  })
})

describe('a file that gave up its descriptor', () => {
  function suspended() {
    const files = filesOn(nodeDisk)
    const file = files.create({ path: at(0) })
    write(file, 'before;')
    for (const n of range(12)) files.create({ path: at(n + 1) })
    return file
  }

  it('is appended to again', () => {
    const file = suspended()
    expect(write(file, 'after;')).toBe(true)
    expect(text(0)).toBe('before;after;')
  })

  it('is appended to again on a file system that has given it another inode number', () => {
    const file = suspended()
    fs.copyFileSync(at(0), join(root, 'copy'))
    fs.renameSync(join(root, 'copy'), at(0))
    expect(write(file, 'after;')).toBe(true)
    expect(text(0)).toBe('before;after;')
  })

  it.each([
    ['is gone', () => fs.rmSync(at(0))],
    ['is gone, and its directory', () => fs.rmSync(root, { recursive: true })],
    [
      'was replaced by another file',
      () => {
        fs.writeFileSync(join(root, 'other'), 'private data')
        fs.renameSync(join(root, 'other'), at(0))
      },
    ],
    [
      'was replaced by a link',
      () => {
        fs.writeFileSync(join(root, 'other'), 'private')
        fs.rmSync(at(0))
        fs.symlinkSync(join(root, 'other'), at(0))
      },
    ],
    [
      'was replaced by a directory',
      () => {
        fs.rmSync(at(0))
        fs.mkdirSync(at(0))
      },
    ],
  ])('and %s is not written, nor is the file in its place', (_, happen) => {
    const file = suspended()
    happen()
    expect(write(file, 'after;')).toBe(false)
    expect(write(file, 'after;')).toBe(false)
    file.close()
    for (const name of ['other', '0.segment']) {
      const path = join(root, name)
      if (fs.statSync(path, { throwIfNoEntry: false })?.isFile())
        expect(fs.readFileSync(path, 'utf8')).toMatch(/^private( data)?$/)
    }
    fs.mkdirSync(root, { recursive: true })
  })
})
