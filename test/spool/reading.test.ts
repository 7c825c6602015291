/** Readers of a spool that take no lock: they follow what applications write, and explain damage. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeDisk } from '../../src/spool/disk.ts'
import { isSealed, partsOf, readSegment, recordBytes, writeEnd, writeRecord } from '../../src/spool/segment-format.ts'
import { readableSegmentsIn } from '../../src/spool/spool-directory.ts'
import { SpoolTail } from '../../src/spool/spool-tail.ts'
import { soakRuns } from '../support/soak-runs.ts'

const dataset = Buffer.from('d')

function record(number: number): Buffer {
  const line = Buffer.from(`${JSON.stringify({ n: number })}\n`)
  const target = Buffer.alloc(recordBytes(dataset, line.length))
  writeRecord(target, 0, dataset, number, 2, line, 0, line.length)
  return target
}

function endRecord(count: number): Buffer {
  const target = Buffer.alloc(recordBytes(dataset, 0))
  writeEnd(target, 0, dataset, count)
  return target
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}

it('a directory that cannot be read hides no others', async () => {
  const list = async (path: string) => {
    if (path.endsWith('locked')) throw Object.assign(new Error('no'), { code: 'EACCES', syscall: 'scandir' })
    throw Object.assign(new Error('gone'), { code: 'ENOENT', syscall: 'scandir' })
  }
  const disk = { ...nodeDisk, list }
  expect(await readableSegmentsIn('/spool', 'locked', disk)).toBe('the directory cannot be read (EACCES)')
  expect(await readableSegmentsIn('/spool', 'gone', disk)).toEqual([])
})

describe('a reader that follows a spool', () => {
  let root: string
  let tail: SpoolTail
  beforeEach(() => {
    root = fs.mkdtempSync(join(tmpdir(), 'logferry-tail-'))
    tail = new SpoolTail(root)
  })
  afterEach(async () => {
    await tail.close()
    fs.rmSync(root, { recursive: true })
  })

  const folder = (random: string) => {
    const path = join(root, `20261121T104103Z-${random}`)
    fs.mkdirSync(path, { mode: 0o700, recursive: true })
    return path
  }
  const segment = (number: number, random = '00000001') =>
    join(folder(random), `${String(number).padStart(12, '0')}.segment`)
  /** Looks once. Returns the numbers of the events, and that of missed segments. */
  const look = async () => {
    const numbers: number[] = []
    const reading = tail.readNew()
    for (;;) {
      const { done, value } = await reading.next()
      if (done === true) return { numbers, missed: value }
      for (const { line } of value) numbers.push(JSON.parse(line).n)
    }
  }

  it('reads what is there first, then what is added, each event once', async () => {
    fs.writeFileSync(segment(1), Buffer.concat([record(0), record(1)]))
    expect(await look()).toEqual({ numbers: [0, 1], missed: 0 })
    expect(await look()).toEqual({ numbers: [], missed: 0 })
    fs.appendFileSync(segment(1), record(2))
    fs.writeFileSync(segment(2), Buffer.concat([record(0), endRecord(1)]))
    expect(await look()).toEqual({ numbers: [2, 0], missed: 0 })
    fs.appendFileSync(segment(1), Buffer.concat([record(3), endRecord(4)]))
    expect(await look()).toEqual({ numbers: [3], missed: 0 })
  })

  it.runIf(process.platform === 'linux')('closes every file, also that of events that are not passed on', async () => {
    const openFiles = () => fs.readdirSync('/proc/self/fd').length
    fs.writeFileSync(segment(1), record(0))
    const before = openFiles()
    expect(await tail.readNew().next()).toMatchObject({ done: false })
    await tail.close()
    expect(openFiles()).toBe(before)
  })

  it('reads a segment when its events are asked for, and no sooner', async () => {
    fs.writeFileSync(segment(1), Buffer.concat([record(0), endRecord(1)]))
    fs.writeFileSync(segment(2), Buffer.concat([record(1), endRecord(1)]))
    const reading = tail.readNew()
    expect(await reading.next()).toMatchObject({ value: [{ line: expect.stringContaining('"n":0') }] })
    fs.rmSync(segment(2))
    expect(await reading.next()).toEqual({ done: true, value: 1 })
  })

  it('waits for the end of a record that is being written', async () => {
    const bytes = record(1)
    fs.writeFileSync(segment(1), Buffer.concat([record(0), bytes.subarray(0, 20)]))
    expect(await look()).toEqual({ numbers: [0], missed: 0 })
    fs.appendFileSync(segment(1), bytes.subarray(20))
    expect(await look()).toEqual({ numbers: [1], missed: 0 })
  })

  it('reads the last events of a segment that was removed since, alone or with its directory', async () => {
    fs.writeFileSync(segment(1), record(0))
    fs.writeFileSync(segment(1, '00000002'), record(10))
    await look()
    fs.appendFileSync(segment(1), record(1))
    fs.unlinkSync(segment(1))
    fs.appendFileSync(segment(1, '00000002'), record(1))
    fs.rmSync(folder('00000002'), { recursive: true })
    expect(await look()).toEqual({ numbers: [1, 1], missed: 0 })
  })

  it('counts segments that came and went between two looks', async () => {
    fs.writeFileSync(segment(7), Buffer.concat([record(0), endRecord(1)]))
    expect(await look()).toEqual({ numbers: [0], missed: 0 }) // those before were delivered before the first look
    fs.writeFileSync(segment(10), record(1))
    fs.writeFileSync(segment(3, '00000002'), record(2))
    expect(await look()).toEqual({ numbers: [1, 2], missed: 4 })
    expect(await look()).toEqual({ numbers: [], missed: 0 })
  })

  it('counts a segment that is none, and goes on with the others', async () => {
    fs.writeFileSync(segment(1), record(0))
    fs.truncateSync(segment(1), 100_000_000)
    fs.writeFileSync(segment(2), record(5))
    expect(await look()).toEqual({ numbers: [5], missed: 1 })
    fs.writeFileSync(join(root, 'rejected.ndjson'), '{}\n')
    fs.symlinkSync('/etc/hostname', segment(3))
    fs.writeFileSync(segment(4), record(6))
    expect(await look()).toEqual({ numbers: [6], missed: 1 })
  })

  it('holds a bounded number of files open', async () => {
    for (const number of range(1, 101)) fs.writeFileSync(segment(number), record(number))
    const before = fs.readdirSync('/proc/self/fd').length
    expect((await look()).numbers).toEqual(range(1, 101))
    expect(fs.readdirSync('/proc/self/fd').length - before).toBeLessThanOrEqual(64)
  })
})

describe('the parts of a segment', () => {
  const lines = fc.integer({ min: 1, max: 5 })
  const changes = fc.array(fc.record({ at: fc.nat(400), byte: fc.nat(255) }), { maxLength: 4 })

  it('cover its bytes, and hold the lines that are delivered, whatever is damaged', () => {
    fc.assert(
      fc.property(lines, changes, fc.boolean(), fc.nat(60), (count, changes, hasEnd, cut) => {
        const records = range(0, count).map(record)
        const whole = Buffer.concat(hasEnd ? [...records, endRecord(count)] : records)
        const bytes = Buffer.from(whole.subarray(0, Math.max(whole.length - cut, 0)))
        for (const { at, byte } of changes) if (at < bytes.length) bytes[at] = byte
        let end = 0
        const found: string[] = []
        let last = ''
        for (const part of partsOf(bytes)) {
          last = part.kind
          if (part.kind === 'damaged') {
            expect(part.from).toBe(end)
            expect(part.to).toBeGreaterThan(part.from)
            end = part.to
          } else if (part.kind === 'line') {
            expect(part.record.at).toBe(end)
            end += recordBytes(part.record.dataset, part.record.line.length)
            found.push(String(part.record.line))
          } else end += recordBytes(dataset, 0)
        }
        expect(end).toBe(bytes.length)
        expect(isSealed(bytes)).toBe(last === 'end')
        expect(found.join('')).toBe(String(readSegment(Buffer.from(bytes)).lines))
      }),
      { numRuns: soakRuns(300) },
    )
  })
})
