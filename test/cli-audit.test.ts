import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linesIn } from '../src/cli/file-lines.ts'
import { NumberRanges } from '../src/number-ranges.ts'
import { cpuMs } from './support/cpu-ms.ts'
import { logferry, logferryInTurn } from './support/logferry.ts'
import { randomFrom } from './support/random.ts'
import { startShipping } from './support/shipping.ts'

const shipper = '0abcdefghijkl'
const uid = (number: number, of = shipper) => `${of}-${number}`
const nested = (number: number, of = shipper) =>
  JSON.stringify({ n: number, log: { record: { uid: uid(number, of) } } })

async function audit(lines: readonly string[], ...options: readonly string[]) {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-audit-'))
  const path = join(directory.path, 'export.ndjson')
  await writeFile(path, lines.map(line => `${line}\n`).join(''))
  return await logferryInTurn(['audit', path, ...options]) // runs before the directory is removed
}

describe.concurrent('logferry audit', () => {
  it('finds nothing missing in what arrived, whatever its order', async () => {
    const { code, stdout } = await audit([3, 1, 2, 5, 4].map(number => nested(number)))
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${shipper}: numbers 1 to 5, events 5\n  missing: none\n  duplicates: none\n`,
    })
  })

  it('finds gaps and duplicates, for each shipper', async () => {
    const other = 'zzzzzzzzzzzzz'
    const lines = [1, 2, 2, 5, 9, 2].map(number => nested(number)).concat(nested(7, other))
    const { code, stdout } = await audit(lines)
    expect(code).toBe(1)
    expect(stdout).toBe(
      `${shipper}: numbers 1 to 9, events 4\n  missing: 5 (3 to 4, 6 to 8)\n  duplicates: 2 (2)\n` +
        `${other}: numbers 7 to 7, events 1\n  missing: none\n  duplicates: none\n`,
    )
  })

  it('prints JSON', async () => {
    const { code, stdout } = await audit([nested(2), nested(4), '{"n":1}', 'no JSON', '[1]', ''], '--json')
    expect(code).toBe(1)
    const gaps = [{ from: 3, to: 3 }]
    const found = { shipper, first: 2, last: 4, events: 2, missing: 1, gaps, duplicates: 0, repeated: [] }
    expect(JSON.parse(stdout)).toEqual({ lines: 5, unidentified: 1, unreadable: 2, shippers: [found] })
  })

  it('says what it found in place of events', async () => {
    const array = await audit([`[${nested(1)}]`])
    expect(array.stdout).toContain('Give a file with one event as JSON in each line, as UTF-8.')
    expect(array.stdout).toContain('Lines that are not a JSON object, and may be events: 1.')
    const unidentified = await audit(['{"n":1}'])
    expect(unidentified.stdout).toContain("Set the option 'identify'.")
  })

  it('finds no file complete of which it could not read lines, such as an array with an event in each line', async () => {
    const { code, stdout } = await audit(['[', `${nested(1)},`, `${nested(2)},`, nested(3), ']'])
    expect(stdout).toContain('numbers 3 to 3, events 1\n  missing: none')
    expect(stdout).toContain('Lines that are not a JSON object, and may be events: 4.')
    expect(code).toBe(1)
    expect((await audit([nested(1), nested(2), nested(3).slice(0, -9)])).code).toBe(1)
  })

  it('counts the numbers before the first one only if the file is whole', async () => {
    expect((await audit([nested(3)])).code).toBe(0)
    const { code, stdout } = await audit([nested(3)], '--whole')
    expect(code).toBe(1)
    expect(stdout).toContain('missing: 2 (1 to 2)')
  })

  it('finds uids in every place that they have', async () => {
    const { code, stdout } = await audit([
      nested(1),
      JSON.stringify({ 'log.record.uid': uid(2) }),
      JSON.stringify({ attributes: { log: { record: { uid: uid(3) } } } }),
      JSON.stringify({ attributes: { 'log.record.uid': uid(4) } }),
      JSON.stringify({ 'log.record.uid': 'of the export', data: { 'log.record.uid': uid(5) } }),
      JSON.stringify({ dataset: 'd', event: { log: { record: { uid: uid(6) } } } }),
    ])
    expect(stdout).toMatch(/numbers 1 to 6, events 6\n/)
    expect(code).toBe(0)
  })

  it('reads files joined into one, each of which begins with a byte order mark', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-audit-'))
    const path = join(directory.path, 'export.ndjson')
    await writeFile(path, `\ufeff${nested(1)}\n${nested(2)}\n\ufeff${nested(3)}\n`)
    expect((await logferry(['audit', path])).stdout).toMatch(/numbers 1 to 3, events 3\n/)
  })

  it('reads a compressed file', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-audit-'))
    const path = join(directory.path, 'export.ndjson.gz')
    await writeFile(path, gzipSync(`${nested(1)}\n${nested(2)}`))
    expect((await logferryInTurn(['audit', path])).code).toBe(0)
  })

  it('says so of a compressed file that was cut', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-audit-'))
    const path = join(directory.path, 'cut.ndjson.gz')
    await writeFile(path, gzipSync(nested(1)).subarray(0, -10))
    const { code, stderr } = await logferryInTurn(['audit', path])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^logferry: .* cannot be read: unexpected end of file\.$/m),
    })
  })

  it.each([
    ['a file that does not exist', ['/no/such/file'], 1, /^logferry: \/no\/such\/file cannot be read \(ENOENT\)/],
    ['no file', [], 2, /^logferry: no file given/],
  ])('says so of %s', async (_, args, expected, said) => {
    const { code, stderr } = await logferryInTurn(['audit', ...args])
    expect(code).toBe(expected)
    expect(stderr).toMatch(said)
  })

  it('fails where no event has a uid', async () => {
    const { code, stdout } = await audit(['{"n":1}', JSON.stringify({ log: { record: { uid: 'my own' } } })])
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: "None of 2 lines has an event with a uid of logferry. Set the option 'identify'.\n",
    })
  })

  it('agrees with a shipper about what it delivered, and finds what it dropped', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ identify: true, maxBatchEvents: 100, maxRetryDelayMs: 10 })
    for (let n = 0; n < 1000; n++) shipper.ship({ n })
    await shipper.flush()
    const arrived = shipping.emulator.lines('d')
    expect((await audit(arrived, '--whole')).code).toBe(0)
    const { code, stdout } = await audit(arrived.toSpliced(500, 3), '--whole')
    expect(code).toBe(1)
    expect(stdout).toContain('missing: 3 (')
  })
})

describe('number ranges', () => {
  const aNumber = fc.integer({ min: 1, max: 60 })

  it('hold what a set holds', () => {
    fc.assert(
      fc.property(fc.array(aNumber, { maxLength: 120 }), aNumber, (numbers, start) => {
        const ranges = new NumberRanges()
        const set = new Set<number>()
        for (const number of numbers) {
          expect(ranges.add(number)).toBe(!set.has(number))
          set.add(number)
        }
        const inRanges = [...ranges].flatMap(({ from, to }) =>
          Array.from({ length: to - from + 1 }, (_, i) => from + i),
        )
        expect(inRanges).toEqual([...set].sort((one, other) => one - other))
        expect(ranges.count).toBe(set.size)
        const missingFrom = (start: number) =>
          [...ranges.gaps(start)].flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i))
        const missing = missingFrom(1)
        const upTo = ranges.last ?? 0
        expect(missing).toEqual(Array.from({ length: upTo }, (_, i) => i + 1).filter(number => !set.has(number)))
        expect(missingFrom(start)).toEqual(missing.filter(number => number >= start))
        expect(ranges.length).toBeLessThanOrEqual(missing.length + 1)
      }),
    )
  })

  it('take numbers in any order, in time that grows with their number only', () => {
    const random = randomFrom(1)
    const numbers = Array.from({ length: 200_000 }, (_, i) => ({ number: i + 1, place: random() }))
    numbers.sort((one, other) => one.place - other.place)
    const ranges = new NumberRanges()
    const add = (from: number, to: number): void => {
      for (const { number } of numbers.slice(from, to)) ranges.add(number)
    }
    const firstMs = cpuMs(() => add(0, 100_000))
    expect(ranges.length).toBeGreaterThan(40_000)
    const inRanges = [...ranges].flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i))
    const first = Array.from(numbers.slice(0, 100_000), ({ number }) => number).sort((one, other) => one - other)
    expect(inRanges.join()).toBe(first.join())
    const secondMs = cpuMs(() => add(100_000, 200_000))
    expect([...ranges]).toEqual([{ from: 1, to: 200_000 }])
    expect(firstMs + secondMs).toBeLessThan(1500)
  })
})

describe('lines of a file', () => {
  it('are the same however the bytes are cut', async () => {
    const text = 'one\n\nthree €\nfour'
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 20 }), { maxLength: 6 }), async cuts => {
        const bytes = Buffer.from(text)
        const places = [0, ...cuts.sort((one, other) => one - other), bytes.length]
        const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
        const lines: (string | undefined)[] = []
        for await (const some of linesIn(Readable.from(chunks))) lines.push(...some)
        expect(lines).toEqual(text.split('\n'))
      }),
    )
  })

  it('are skipped if they are too long, in one piece or in several', async () => {
    const chunks = ['short\nlonger than ten', ' bytes\nsh', 'ort\n0123456789abc\n'].map(text => Buffer.from(text))
    const lines: (string | undefined)[] = []
    for await (const some of linesIn(Readable.from(chunks), 10)) lines.push(...some)
    expect(lines).toEqual(['short', undefined, 'short', undefined])
  })
})
