import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDatasetName } from '../../src/options/dataset-name.ts'
import { whyNoEvent } from '../../src/spool/event-line.ts'
import { readSegment, recordBytes, segmentBytes, writeEnd, writeRecord } from '../../src/spool/segment-format.ts'
import { soakRuns } from '../support/soak-runs.ts'

interface Written {
  readonly bytes: Buffer
  /** Offset of the record of each line; the last number is the end of the last record. */
  readonly starts: readonly number[]
}

/** A segment as its process leaves it: `complete`, or still open for lines. */
function segmentOf(dataset: string, lines: readonly string[], isComplete: boolean): Written {
  const name = Buffer.from(dataset)
  const all = lines.map(line => Buffer.from(line))
  const linesBytes = all.reduce((sum, { length }) => sum + length, 0)
  const bytes = Buffer.alloc(segmentBytes(name, lines.length, linesBytes))
  const starts = [0]
  let at = 0
  for (const [number, line] of all.entries()) {
    at = writeRecord(bytes, at, name, number, number % 6, line, 0, line.length)
    starts.push(at)
  }
  if (isComplete) at = writeEnd(bytes, at, name, lines.length)
  return { bytes: bytes.subarray(0, at), starts }
}

function read(bytes: Uint8Array) {
  const { dataset, lines, severities, lost } = readSegment(Buffer.from(bytes))
  return { dataset, lines: linesIn(lines), severities: [...severities], lost }
}

function linesIn(bytes: Buffer): string[] {
  return bytes.toString('utf8').split(/(?<=\n)/)
}

const text = fc.string({ unit: fc.oneof(fc.constantFrom('\u0000', '\ud7ff', '😀', 'é', 'ÿþLF'), fc.string()) })
const line = text.map(value => `${JSON.stringify({ value })}\n`)
const datasetName = fc.string({ unit: 'grapheme', maxLength: 100 }).filter(isDatasetName)

describe('a segment', () => {
  it('returns every line with its severity, and the dataset, whatever their text', () => {
    fc.assert(
      fc.property(
        datasetName,
        fc.array(line, { minLength: 1, maxLength: 50 }),
        fc.boolean(),
        (dataset, lines, isDone) => {
          expect(read(segmentOf(dataset, lines, isDone).bytes)).toEqual({
            dataset: Buffer.from(dataset).toString(),
            lines,
            severities: lines.map((_, number) => number % 6),
            lost: 0,
          })
        },
      ),
      { numRuns: soakRuns(200) },
    )
  })

  it('has exactly the predicted size', () => {
    const { bytes, starts } = segmentOf('käse', ['{"a":1}\n', '{"b":"ß"}\n'], true)
    expect(starts).toEqual([0, recordBytes(Buffer.from('käse'), 8), bytes.length - recordBytes(Buffer.from('käse'), 0)])
  })

  it('without lines is empty, and nothing counts as lost', () => {
    const nothing = { dataset: undefined, lines: [''], severities: [], lost: 0 }
    expect(read(Buffer.alloc(0))).toEqual(nothing)
    expect(read(segmentOf('d', [], true).bytes)).toEqual(nothing)
  })
})

/** Bytes of a head, a dataset of one character, `{}` and its newline. */
const minRecordBytes = 24

/**
 * Short lines, a line with the mark in a text, a line with characters of each length, and a line longer than the
 * others.
 */
const lines = [
  '{"n":0}\n',
  '{"n":1,"mark":"ÿþLF"}\n',
  '{"n":2,"text":"aé€😀"}\n',
  `{"n":3,"pad":"${'x'.repeat(30)}"}\n`,
]
const dataset = 'dä'
const complete = segmentOf(dataset, lines, true)
const open = segmentOf(dataset, lines, false)
const ends = [...complete.starts.slice(1), complete.bytes.length]

/**
 * Returns the records that have a byte from `from` to before `to`. The last number stands for the end of the segment.
 */
function recordsAt({ bytes, starts }: Written, from: number, to: number): number[] {
  return starts.flatMap((start, number) => {
    const end = starts[number + 1] ?? bytes.length
    return start < to && from < end ? [number] : []
  })
}

function without(numbers: readonly number[]): string[] {
  return lines.filter((_, number) => !numbers.includes(number))
}

/** Returns the expected content of a segment if these records are damaged, and nothing is missing at its end. */
function expectLost(bytes: Uint8Array, damaged: readonly number[]): void {
  const { lines: found, lost } = read(bytes)
  const kept = without(damaged)
  const expected = kept.length > 0 ? kept : ['']
  if (found.length !== expected.length || found.join('') !== expected.join('')) expect(found).toEqual(expected)
  if (!damaged.includes(lines.length)) expectOneOf([lines.length - kept.length], lost)
}

/** Compares before it asserts: an assertion for each of the damaged segments would take most of the time. */
function expectOneOf(expected: readonly number[], value: number): void {
  if (!expected.includes(value)) expect(expected).toContain(value)
}

function expectAll(these: readonly string[], found: readonly string[]): void {
  for (const one of these) if (!found.includes(one)) expect(found).toContain(one)
}

function changed({ bytes }: Written, at: number, value: (byte: number) => number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = value(copy[at] as number)
  return copy
}

const changes: readonly ((byte: number) => number)[] = [
  byte => byte ^ 0xff,
  byte => byte ^ 0x01,
  byte => byte ^ 0x80,
  byte => (byte === 0 ? 1 : 0),
  byte => (byte === 0xff ? 0xfe : 0xff),
]

describe('scenario 18: damage costs only the damaged lines, and they are counted:', () => {
  it('any byte changed in a complete segment', () => {
    for (let at = 0; at < complete.bytes.length; at++) {
      for (const change of changes) {
        const bytes = changed(complete, at, change)
        expectLost(bytes, recordsAt(complete, at, at + 1))
        // A damaged end does not count as a lost line either.
        expect(read(bytes).lost).toBe(at < (ends[lines.length - 1] as number) ? 1 : 0)
      }
    }
  })

  it('any byte changed in an incomplete segment', () => {
    for (let at = 0; at < open.bytes.length; at++) {
      for (const change of changes) expectLost(changed(open, at, change), recordsAt(open, at, at + 1))
    }
  })

  it('a file that ends anywhere: complete lines are read, and one torn line is counted', () => {
    for (let length = 0; length < complete.bytes.length; length++) {
      const whole = ends.filter(end => end <= length).length
      const { lines: found, lost } = read(complete.bytes.subarray(0, length))
      expect(found).toEqual(whole > 0 ? lines.slice(0, whole) : [''])
      const torn = length - (complete.starts[whole] as number)
      if (torn === 0) expect(lost).toBe(0)
      else if (whole < lines.length) expect(lost).toBe(1)
      // From offset 12 on, the torn record shows that it is the end, and not a line.
      else expect(lost).toBe(torn < 12 ? 1 : 0)
    }
  })

  it('any range of zeros', () => {
    for (let from = 0; from < complete.bytes.length; from++) {
      for (let to = from + 1; to <= complete.bytes.length; to++) {
        const bytes = Buffer.from(complete.bytes).fill(0, from, to)
        // A byte that was zero before is not damaged.
        const damaged = recordsAt(complete, from, to).filter(number => {
          const [start, end] = [Math.max(complete.starts[number] as number, from), Math.min(ends[number] as number, to)]
          return !bytes.subarray(start, end).equals(complete.bytes.subarray(start, end))
        })
        expectLost(bytes, damaged)
        if (damaged.includes(lines.length)) expectTornTail(bytes)
      }
    }
  })

  it('any range missing', () => {
    for (let from = 0; from < complete.bytes.length; from++) {
      for (let to = from + 1; to < complete.bytes.length; to++) {
        const bytes = Buffer.concat([complete.bytes.subarray(0, from), complete.bytes.subarray(to)])
        const damaged = recordsAt(complete, from, to)
        const { lines: found, lost } = read(bytes)
        // If both ends of the range are alike, one record may be intact again.
        expectAll(without(damaged), found)
        expectSomeOf(found, lines)
        // If very much is missing, the rest could not have held as many lines as it claims.
        const counted = Math.min(lines.length, Math.floor(bytes.length / minRecordBytes))
        if (to <= (ends[lines.length - 1] as number)) expectOneOf([Math.max(counted - countOf(found), 0)], lost)
        else expectTornTail(bytes)
      }
    }
  })

  it('any range repeated: no line is read twice', () => {
    for (let from = 0; from < complete.bytes.length; from++) {
      for (let to = from + 1; to <= complete.bytes.length; to++) {
        const [before, again, after] = [0, from, to].map((start, i) =>
          complete.bytes.subarray(start, [to, to, complete.bytes.length][i]),
        ) as [Buffer, Buffer, Buffer]
        const damaged = recordsAt(complete, from, to)
        const { lines: found, lost } = read(Buffer.concat([before, again, after]))
        expectAll(without(damaged), found)
        expectSomeOf(found, lines)
        const missing = lines.length - countOf(found)
        expectOneOf(damaged.includes(lines.length) ? [missing, missing + 1] : [missing], lost)
      }
    }
  })

  it('records in any other order: no line is lost', () => {
    const records = ends.map((end, number) => complete.bytes.subarray(complete.starts[number], end))
    fc.assert(
      fc.property(fc.shuffledSubarray(records, { minLength: records.length }), shuffled => {
        const { lines: found, lost } = read(Buffer.concat(shuffled))
        expect([[...found].sort(), lost]).toEqual([[...lines].sort(), 0])
      }),
    )
  })

  it('garbage before, between and after the records', () => {
    const mark = Buffer.from([0xff, 0xfe, 0x4c, 0x46])
    const piece = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 60 }).map(bytes => Buffer.from(bytes)),
      fc.uint8Array({ maxLength: 30 }).map(bytes => Buffer.concat([mark, bytes])),
      fc.nat({ max: complete.bytes.length }).map(length => complete.bytes.subarray(0, length)),
    )
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 3 }),
        fc.nat({ max: lines.length }),
        fc.boolean(),
        (pieces, at, isDone) => {
          const { bytes, starts } = isDone ? complete : open
          const cut = starts[at] as number
          const garbage = Buffer.concat(pieces)
          const { lines: found, lost } = read(Buffer.concat([bytes.subarray(0, cut), garbage, bytes.subarray(cut)]))
          expect([...found].sort()).toEqual([...lines].sort())
          if (isDone || at < lines.length) expect(lost).toBe(0)
          else expect(lost).toBeLessThanOrEqual(1)
        },
      ),
      { numRuns: soakRuns(250) },
    )
  })

  it('random bytes: no line is read, and at most one is counted', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), bytes => {
        expect(read(bytes)).toEqual({ dataset: undefined, lines: [''], severities: [], lost: 1 })
      }),
      { numRuns: soakRuns(250) },
    )
  })

  it('several places at once: only written lines are read, and missing ones counted if the end is intact', () => {
    const damage = fc.record({ at: fc.nat({ max: open.bytes.length - 1 }), value: fc.integer({ min: 1, max: 255 }) })
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 40 }), places => {
        const bytes = Buffer.from(complete.bytes)
        for (const { at, value } of places) bytes[at] = (bytes[at] as number) ^ value
        const { lines: found, lost } = read(bytes)
        expectSomeOf(found, lines)
        expect(lost).toBe(lines.length - countOf(found))
      }),
      { numRuns: soakRuns(250) },
    )
  })
})

/** If the end is damaged, lines before a later intact line are counted, and one line after the last intact line. */
function expectTornTail(bytes: Buffer): void {
  const { lines: found, lost } = read(bytes)
  const last = countOf(found) === 0 ? -1 : lines.indexOf(found.at(-1) as string)
  const counted = Math.min(last + 1, Math.floor(bytes.length / minRecordBytes))
  const gaps = Math.max(counted - countOf(found), 0)
  expectOneOf([gaps, gaps + 1, lines.length - countOf(found)], lost)
}

function expectSomeOf(found: readonly string[], these: readonly string[]): void {
  const others = found.filter(one => one !== '' && !these.includes(one))
  if (others.length > 0) expect(others).toEqual([])
  if (new Set(found).size !== found.length) expect(found).toEqual([...new Set(found)])
}

function countOf(found: readonly string[]): number {
  return found.filter(one => one !== '').length
}

describe('a crafted segment', () => {
  /** Makes a record as its writer would, with any content. */
  function record(dataset: string | Uint8Array, number: number, line: string | Uint8Array): Buffer {
    const [name, bytes] = [Buffer.from(dataset as string), Buffer.from(line as string)]
    const target = Buffer.alloc(recordBytes(name, bytes.length))
    writeRecord(target, 0, name, number, 2, bytes, 0, bytes.length)
    return target
  }

  it.each(['..', '.', '', 'a\nb', 'x'.repeat(1025), Buffer.from([0x64, 0xff])])(
    'with an impossible dataset (%j): its lines are refused, those for another are read',
    name => {
      const bytes = Buffer.concat([record(name, 0, '{"n":0}\n'), record('d', 1, '{"n":1}\n')])
      expect(read(Buffer.from(bytes))).toEqual({ dataset: 'd', lines: ['{"n":1}\n'], severities: [2], lost: 1 })
      expect(readSegment(bytes).refused).toEqual([
        { dataset: String(name), line: '{"n":0}\n', reason: 'its dataset is not that of the segment' },
      ])
    },
  )

  it('with lines for several datasets: lines for other datasets are refused', () => {
    const bytes = Buffer.concat([record('d', 0, '{"n":0}\n'), record('e', 1, '{"n":1}\n')])
    expect(read(bytes)).toEqual({ dataset: 'd', lines: ['{"n":0}\n'], severities: [2], lost: 1 })
  })

  it.each([
    '{"n":1}',
    '{"n":1}\n{"n":2}\n',
    '{"n":1}{"n":2}\n',
    '{"n":1},{"n":2}\n',
    '{"n":\n1}\n',
    '[{"n":1}]\n',
    '{"n":tru}\n',
    '{"n":1\n',
    '"text"\n',
    'null\n',
    '{}]\n',
    Buffer.from('{"n":"\u00ff"}\n', 'latin1'),
  ])('with a line that is not one JSON object (%j): the line is refused', line => {
    const bytes = Buffer.concat([record('d', 0, line), record('d', 1, '{"n":"ß"}\n')])
    const { lines: taken, lost, refused } = readSegment(bytes, whyNoEvent)
    expect([String(taken), lost]).toEqual(['{"n":"ß"}\n', 1])
    expect(refused).toEqual([{ dataset: 'd', line: String(line), reason: 'it is not one JSON object on one line' }])
  })

  it.each([0xffffffff, 0x80000000, 1000])(
    'with the record number %i: no more lines are missing than its file can hold',
    number => {
      const bytes = Buffer.concat([record('d', 0, '{"n":0}\n'), record('d', number, '{"n":1}\n')])
      const { lines: found, lost } = read(bytes)
      expect(found).toHaveLength(2)
      expect(lost).toBeLessThanOrEqual(bytes.length / minRecordBytes)
      const end = Buffer.alloc(recordBytes(Buffer.from('d'), 0))
      writeEnd(end, 0, Buffer.from('d'), number)
      expect(read(end).lost).toBe(0)
    },
  )

  const mebibytes = 2
  const fakeHead = (spacing: number) => {
    const head = record('d', 0, '{"n":0}\n').subarray(0, 20)
    head.writeUInt32LE(1_000_000, 8) // a line that ends far away
    return Buffer.concat([head, Buffer.alloc(spacing - head.length, 'x')])
  }
  it.each([
    ['marks', Buffer.from([0xff, 0xfe, 0x4c, 0x46])],
    ['heads', fakeHead(20)],
    ['heads a little apart', fakeHead(100)],
    ['heads far apart', fakeHead(4000)],
    ['first bytes of marks', Buffer.from([0xff])],
  ])('of nothing but %s is read as fast as any other', (_, piece) => {
    const bytes = Buffer.alloc(mebibytes * 1_048_576, piece)
    const startedAtMs = performance.now()
    expect(read(bytes)).toMatchObject({ severities: [], lost: 1 })
    expect(performance.now() - startedAtMs).toBeLessThan(500) // 5 to 30 ms alone; 50 s if each checksum went to the end
  })
})
