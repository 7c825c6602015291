/** Files in a spool that this package has not written. Whatever they hold, they cost no more than themselves. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { spoolContents } from '../../src/spool/inspect.ts'
import { recordBytes, writeEnd, writeRecord } from '../../src/spool/segment-format.ts'
import { logferry } from '../support/logferry.ts'
import { startShipping } from '../support/shipping.ts'

let directory: string
beforeEach(() => {
  directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-crafted-')), 'spool')
})
afterEach(() => fs.rmSync(join(directory, '..'), { recursive: true }))

/** Makes a record with a correct checksum and any content. */
function record(dataset: string, number: number, line: string): Buffer {
  const [name, bytes] = [Buffer.from(dataset), Buffer.from(line)]
  const target = Buffer.alloc(recordBytes(name, bytes.length))
  writeRecord(target, 0, name, number, 2, bytes, 0, bytes.length)
  return target
}

function endRecord(dataset: string, count: number): Buffer {
  const name = Buffer.from(dataset)
  const target = Buffer.alloc(recordBytes(name, 0))
  writeEnd(target, 0, name, count)
  return target
}

/** Leaves segments as a process does that has ended. */
function leave(...segments: readonly (readonly Buffer[])[]): string[] {
  return leaveIn('20200101T000000Z-00000001', ...segments)
}

function leaveIn(name: string, ...segments: readonly (readonly Buffer[])[]): string[] {
  const path = join(directory, name)
  fs.mkdirSync(path, { recursive: true, mode: 0o700 })
  return segments.map((records, number) => {
    const file = join(path, `${String(number + 1).padStart(12, '0')}.segment`)
    fs.writeFileSync(file, Buffer.concat(records))
    return file
  })
}

function setAside(): { dataset: string; event: string; reason: string; status?: number }[] {
  const path = join(directory, 'rejected.ndjson')
  if (!fs.existsSync(path)) return []
  return fs
    .readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n)

describe('a spool with records that logferry did not write', () => {
  it('sends nothing to a path other than that of a dataset', async () => {
    await using shipping = await startShipping()
    const names = ['..', '.', '../../v1/admin', 'a\u0000b', '']
    leave(...names.map(name => [record(name, 0, '{"n":0}\n'), endRecord(name, 1)]), [record('d', 0, '{"n":1}\n')])
    const shipper = shipping.ship({ spool: { directory } })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    const slashes = '../../v1/admin' // a valid name of a dataset: it is one segment of the path
    expect(shipping.emulator.datasets().sort()).toEqual([slashes, 'd'])
    expect(
      shipping.emulator.requests().every(({ path }) => /^\/v1\/datasets\/(d|[.%0-9A-Fv]+admin)\/ingest$/.test(path)),
    ).toBe(true)
    expect(shipper.stats()).toMatchObject({ accepted: 6, delivered: 2, drops: { 'spool-damaged': { unknown: 4 } } })
    expect(setAside().map(({ dataset }) => dataset)).toEqual(['..', '.', 'a\u0000b', ''])
    expect(shipping.warnings).toContainEqual(
      expect.objectContaining({
        code: 'LOGFERRY_SPOOL',
        message: expect.stringMatching(/did not write: .*rejected\.ndjson/),
      }),
    )
    await shipper.close()
    expect(fs.readdirSync(directory)).toEqual(['rejected.ndjson'])
  })

  it.each(['application/x-ndjson', 'application/json'] as const)(
    'sends every line that is one JSON object, and no other (%s)',
    async contentType => {
      await using shipping = await startShipping()
      const bad = ['{"n":1}\n{"n":2}\n', '{"n":1},{"n":2}\n', '{"n":tru}\n', '{"n":1}]\n', '[1]\n', 'text\n']
      const good = (n: number) => `{"n":${n}}\n`
      leave(bad.flatMap((line, i) => [record('d', 2 * i, line), record('d', 2 * i + 1, good(100 + i))]))
      const shipper = shipping.ship({ spool: { directory }, contentType })
      expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
      expect(shipping.emulator.events('d').map(({ n }) => n)).toEqual(range(6).map(i => 100 + i))
      expect(shipper.stats()).toMatchObject({ accepted: 12, delivered: 6, drops: { 'spool-damaged': { unknown: 6 } } })
      expect(setAside().map(({ event }) => event)).toEqual(bad)
      expect(shipping.emulator.stats().requests).toBe(1)
    },
  )

  it('counts them, and does not say that they are kept, if they cannot be written to rejected.ndjson', async () => {
    await using shipping = await startShipping()
    leave([record('d', 0, '[1]\n'), record('d', 1, '[2]\n'), record('d', 2, '{"n":1}\n')])
    fs.mkdirSync(join(directory, 'rejected.ndjson'))
    const shipper = shipping.ship({ spool: { directory } })
    await shipper.flush()
    expect(shipper.stats()).toMatchObject({ delivered: 1, spool: { rejectedUnwritten: 2 } })
    expect(shipping.warnings.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('They are not sent, and 2 could not be kept in rejected.ndjson.'),
    )
  })

  it('counts no more as lost than the file can hold', async () => {
    await using shipping = await startShipping()
    leave([record('d', 0xfffffffe, '{"n":0}\n')], [record('d', 0, '{"n":1}\n'), endRecord('d', 0xffffffff)])
    const shipper = shipping.ship({ spool: { directory } })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.events('d').map(({ n }) => n)).toEqual([0, 1])
    expect(shipper.stats().dropped).toBeLessThanOrEqual(2)
  })

  it('is adopted quickly, whatever its bytes', async () => {
    await using shipping = await startShipping()
    const head = record('d', 0, '{"n":0}\n').subarray(0, 20)
    head.writeUInt32LE(1_000_000, 8)
    leave(...range(4).map(() => [Buffer.alloc(2_097_152, head)]), [record('d', 0, '{"n":0}\n')])
    const startedAtMs = performance.now()
    const shipper = shipping.ship({ spool: { directory } })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    // A minute for each file if every fake head were followed.
    expect(performance.now() - startedAtMs).toBeLessThan(3000)
    expect(shipper.stats()).toMatchObject({ delivered: 1, drops: { 'spool-damaged': { unknown: 4 } } })
  })

  it('leaves a file that logferry cannot have written in place, and reads the next ones', async () => {
    await using shipping = await startShipping()
    const [huge] = leave([], [record('d', 0, '{"n":0}\n')]) as [string, string]
    fs.truncateSync(huge, 2 ** 33)
    const shipper = shipping.ship({ spool: { directory } })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats()).toMatchObject({ accepted: 1, delivered: 1 })
    expect(shipping.warnings).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/No file of logferry is so large/) }),
    )
    expect(fs.existsSync(huge)).toBe(true)
    expect(shipper.stats().spool).toMatchObject({ bytes: 0 }) // it takes no room from logged events either
  })

  it('adopts what other processes have left, however many directories have a file that cannot be read', async () => {
    await using shipping = await startShipping()
    const names = range(9).map(n => `20200101T00000${n}Z-00000001`)
    const unreadable = names.slice(0, -1).map(name => leaveIn(name, []).join())
    for (const file of unreadable) fs.truncateSync(file, 2 ** 33)
    const [readable] = leaveIn(names.at(-1) as string, [record('d', 0, '{"n":0}\n')]) as [string]
    const shipper = shipping.ship({ spool: { directory } })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.events('d').map(({ n }) => n)).toEqual([0])
    expect(fs.existsSync(readable)).toBe(false)
    expect(unreadable.every(file => fs.existsSync(file))).toBe(true)
    expect(shipper.stats().spool).toMatchObject({ bytes: 0 })
  })
})

/** Makes a file beside the spool. */
function backup(): string {
  const path = join(directory, '..', 'backup')
  fs.writeFileSync(path, '')
  return path
}

it.skipIf(process.platform === 'win32').each([
  ['has a second name, as after `cp -al`', (lock: string) => fs.linkSync(backup(), lock)],
  ['is a link', (lock: string) => fs.symlinkSync(backup(), lock)],
  ['is a directory', (lock: string) => fs.mkdirSync(lock)],
])(
  'a directory whose lock file %s is left alone, with a warning that names it, until it is removed',
  async (_, put) => {
    await using shipping = await startShipping()
    const [segment] = leave([record('d', 0, '{"n":0}\n')]) as [string]
    const lock = join(segment, '..', 'lock')
    put(lock)
    const first = shipping.ship({ spool: { directory } })
    expect(await first.close()).toEqual({ complete: true, pending: 0 })
    expect(first.stats().delivered).toBe(0)
    const messages = shipping.warnings.map(({ message }) => message)
    expect(messages).toEqual([
      expect.stringMatching(/cannot be read \(\S+\/lock is a link, .*Remove that lock file\.$/),
    ])
    fs.rmSync(lock, { recursive: true })
    const second = shipping.ship({ spool: { directory } })
    expect(await second.close()).toEqual({ complete: true, pending: 0 })
    expect(second.stats().delivered).toBe(1)
  },
)

describe('logferry spool ls, of a crafted spool', () => {
  it('lists its contents as fast as it can be read', async () => {
    const head = record('d', 0, '{"n":0}\n').subarray(0, 20)
    head.writeUInt32LE(1_000_000, 8)
    const datasets = ['__proto__', 'constructor', ...range(100).map(n => `dataset-${n}`)]
    const [huge] = leave(
      [],
      [Buffer.alloc(2_097_152, head)],
      [record('d', 0xfffffffe, 'no JSON\n')],
      ...datasets.map(name => [record(name, 0, '{"n":0}\n'), endRecord(name, 1)]),
    ) as [string]
    fs.truncateSync(huge, 2 ** 33)
    const { processes } = await spoolContents(directory)
    expect(processes).toMatchObject([{ segments: 105, events: 103, damaged: expect.any(Number) }])
    expect(processes[0]?.damaged).toBeLessThan(10)
    expect(Object.keys(processes[0]?.datasets ?? {})).toEqual(['d', ...datasets])
    const { code, stdout } = await logferry(['spool', 'ls', directory])
    expect(code).toBe(0)
    expect(stdout).toMatch(/__proto__, constructor, .* and 83 others$/m)
  })

  it('reads no more of a huge rejected.ndjson than a command would, and resend-rejected leaves that file in place', async () => {
    leave([record('d', 0, '{"n":0}\n')])
    const rejected = join(directory, 'rejected.ndjson')
    fs.writeFileSync(rejected, '{}\n', { mode: 0o600 })
    fs.truncateSync(rejected, 2 ** 36)
    expect(await logferry(['spool', 'ls', directory])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/1 refused event/),
    })
    const resent = await logferry(['spool', 'resend-rejected', directory], { LOGFERRY_URL: 'http://localhost:9' })
    expect(resent.stderr).toContain('has more than 256 MiB. Split the file.')
    expect(fs.statSync(rejected).size).toBe(2 ** 36)
  })
})
