import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Emulator } from '../../src/emulator.ts'
import type { Shipper, ShipperOptions } from '../../src/index.ts'
import { recordBytes, segmentBytes, writeEnd, writeRecord } from '../../src/spool/segment-format.ts'
import { mustRunSync } from '../support/run-sync.ts'
import { startShipping } from '../support/shipping.ts'
import { surroundings } from '../support/surroundings.ts'
import { upAfterClose } from '../support/up-after-close.ts'

const isRoot = process.getuid?.() === 0

let directory: string
beforeEach(() => {
  directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-spool-')), 'spool')
})
afterEach(() => fs.rmSync(join(directory, '..'), { recursive: true }))

/** Little memory, which few events fill, and short waits. */
function small(spool: Partial<ShipperOptions['spool']> = {}): ShipperOptions {
  return {
    spool: { directory, ...spool },
    maxBatchBytes: 16_384,
    maxBufferedBytes: 131_072,
    maxRetryDelayMs: 50,
  }
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const down = (emulator: Emulator) => emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
const pad = 'x'.repeat(150)

function log(shipper: Shipper, count: number, more: object = {}): void {
  for (const n of range(count)) shipper.ship({ level: n % 2 ? 'warn' : 'info', n, pad, ...more })
}

function arrived(emulator: Emulator, dataset = 'd'): number[] {
  return emulator.events(dataset).map(({ n }) => n as number)
}

const ascending = (numbers: readonly number[]) => [...numbers].sort((one, other) => one - other)

/** Returns the paths of the files in the spool that have this ending. */
function files(ending = ''): string[] {
  if (!fs.existsSync(directory)) return []
  const all = fs.readdirSync(directory, { recursive: true, withFileTypes: true })
  return all
    .filter(entry => entry.isFile() && entry.name.endsWith(ending))
    .map(entry => join(entry.parentPath, entry.name))
}

function bytesOnDisk(): number {
  return files().reduce((sum, path) => sum + fs.statSync(path).size, 0)
}

function expectBooksToBalance(shipper: Shipper): void {
  const { accepted, delivered, dropped, pending, drops } = shipper.stats()
  expect(accepted).toBe(delivered + dropped + pending)
  const byReason = Object.values(drops).flatMap(bySeverity => Object.values(bySeverity))
  expect(byReason.reduce((sum, count) => sum + count, 0)).toBe(dropped)
}

/** Makes a directory as a process leaves it: segments with these numbers of lines. */
function leave(name: string, segments: number, lines: number, line: (n: number) => object): void {
  const path = join(directory, name)
  fs.mkdirSync(path, { recursive: true, mode: 0o700 })
  const dataset = Buffer.from('d')
  for (const segment of range(segments)) {
    const all = range(lines).map(i => Buffer.from(`${JSON.stringify(line(segment * lines + i))}\n`))
    const bytes = Buffer.alloc(
      segmentBytes(
        dataset,
        lines,
        all.reduce((sum, { length }) => sum + length, 0),
      ),
    )
    let at = 0
    for (const [number, one] of all.entries()) at = writeRecord(bytes, at, dataset, number, 2, one, 0, one.length)
    writeEnd(bytes, at, dataset, lines)
    fs.writeFileSync(join(path, `${String(segment + 1).padStart(12, '0')}.segment`), bytes)
  }
}

describe('while the service is down', () => {
  it.each(['memory', 'disk'] as const)(
    'events of every severity wait for the next process (durability: %s)',
    async durability => {
      await using shipping = await startShipping()
      down(shipping.emulator)
      const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'crit', 'alert', 'emerg']
      const first = shipping.ship({ ...small(), durability })
      for (const level of levels) first.ship({ level })
      await first.close({ timeoutMs: 0 })
      await upAfterClose(shipping.emulator)
      const next = shipping.ship(small())
      expect(await next.flush()).toEqual({ complete: true, pending: 0 })
      expect(shipping.emulator.events('d').map(({ level }) => level)).toEqual(levels)
      expect(next.stats()).toMatchObject({ delivered: levels.length, dropped: 0 })
    },
  )

  it('events beyond the memory budget wait on disk, and each is delivered once', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship(small())
    for (const part of range(10)) {
      for (const i of range(500)) shipper.ship({ level: 'info', n: part * 500 + i, pad })
      expect(shipper.stats().bufferedBytes).toBeLessThanOrEqual(131_072)
      await sleep(1)
    }
    expect(shipper.stats()).toMatchObject({ accepted: 5000, dropped: 0 })
    // The latest file may still be open. Its end record, which is not written yet, counts already.
    const endBytes = recordBytes(Buffer.from('d'), 0)
    expect([0, endBytes]).toContain((shipper.stats().spool?.bytes ?? 0) - bytesOnDisk())
    expect(bytesOnDisk()).toBeGreaterThan(5000 * 150 - 131_072)
    shipping.emulator.faults.clear()
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(5000))
    expect(files('.segment')).toEqual([])
    expect(shipper.stats()).toMatchObject({ delivered: 5000, pending: 0, bufferedBytes: 0, spool: { bytes: 0 } })
    await shipper.close()
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('at most maxBytes are on disk: the oldest events are dropped, counted by severity and reported', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const maxBytes = 300_000
    const shipper = shipping.ship(small({ maxBytes }))
    const told: object[] = []
    shipper.on('dropped', drop => told.push(drop))
    for (const part of range(100)) {
      for (const i of range(100)) shipper.ship({ level: i % 4 ? 'info' : 'error', n: part * 100 + i, pad })
      expect(bytesOnDisk()).toBeLessThanOrEqual(maxBytes)
    }
    expectBooksToBalance(shipper)
    await sleep(1)
    expect(told).toContainEqual(expect.objectContaining({ reason: 'spool-full' }))
    expect(shipping.warnings.filter(({ message }) => /the spool is full/.test(message))).toHaveLength(1)
    shipping.emulator.faults.clear()
    await shipper.flush()
    const { dropped, drops } = shipper.stats()
    expect(Object.keys(drops)).toEqual(['spool-full'])
    expect(drops['spool-full']?.info).toBeGreaterThan(1000)
    expect(drops['spool-full']?.error).toBeGreaterThan(300)
    const numbers = ascending(arrived(shipping.emulator))
    expect(numbers).toHaveLength(10_000 - dropped)
    expect(numbers.filter(n => n >= 9000)).toEqual(range(1000).map(n => n + 9000))
    expectBooksToBalance(shipper)
  })

  it('events that a listener for drops logs are delivered, too', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship(small({ maxBytes: 100_000 }))
    let told = 0
    shipper.on('dropped', () => told++ < 200 && shipper.ship({ level: 'error', told, pad }))
    for (const _ of range(20)) {
      log(shipper, 200)
      await sleep(0)
    }
    expect(told).toBeGreaterThan(10)
    shipping.emulator.faults.clear()
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expectBooksToBalance(shipper)
    expect(shipping.emulator.eventCount('d')).toBe(shipper.stats().delivered)
    expect(shipper.stats().accepted).toBe(4000 + Math.min(told, 200))
  })

  it("each event is in a file when its log call returns with durability 'disk', and not otherwise", async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ ...small(), durability: 'disk' })
    for (const n of range(3)) {
      shipper.ship({ n })
      expect(
        files('.segment')
          .map(path => fs.readFileSync(path, 'latin1'))
          .join(),
      ).toContain(`"n":${n}}`)
    }
    await shipper.close()
    expect(files()).toEqual([])
    shipping.ship({ ...small(), durability: 'memory' }).ship({ n: 1 })
    expect(files()).toEqual([])
  })
})

it('a removed directory is created again for later events', async () => {
  await using shipping = await startShipping()
  down(shipping.emulator)
  const shipper = shipping.ship({ ...small(), durability: 'disk' })
  log(shipper, 100)
  fs.rmSync(directory, { recursive: true })
  log(shipper, 100)
  expect(await shipper.close({ timeoutMs: 0 })).toEqual({ complete: false, pending: 200 })
  expect(shipper.stats()).toMatchObject({ dropped: 0, spool: { isInTrouble: false } })
  expect(
    files('.segment')
      .map(path => fs.readFileSync(path, 'latin1'))
      .join(),
  ).toContain('"n":99,')
})

it('a directory removed while its events are also in memory costs no event, and is reported', async () => {
  await using shipping = await startShipping()
  down(shipping.emulator)
  const shipper = shipping.ship({ ...small(), durability: 'disk' })
  log(shipper, 150)
  fs.rmSync(directory, { recursive: true })
  await sleep(1200) // complete segments are synced by now
  expect(shipper.stats().spool?.isInTrouble).toBe(false)
  for (const part of range(16)) for (const i of range(250)) shipper.ship({ n: 150 + part * 250 + i, pad })
  expect(shipper.stats().drops).toEqual({})
  expect(bytesOnDisk()).toBeGreaterThan(4000 * 150)
  shipping.emulator.faults.clear()
  expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
  expect(ascending(arrived(shipping.emulator))).toEqual(range(4150))
  expect(shipping.warnings.filter(({ code }) => code !== 'LOGFERRY_UNREACHABLE')).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/was removed or replaced.* No event is lost/) }),
  ])
})

describe('close() while the service is down', () => {
  it.each(['memory', 'disk'] as const)('leaves every event to the next shipper (durability %s)', async durability => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const first = shipping.ship({ ...small(), durability })
    log(first, 2000)
    expect(await first.close({ timeoutMs: 0 })).toEqual({ complete: false, pending: 2000 })
    expect(first.stats()).toMatchObject({ accepted: 2000, pending: 2000, dropped: 0 })
    await expect.poll(() => first.stats().bufferedBytes).toBe(0) // a file may still be being read
    expect(first.stats().spool).toMatchObject({ handedOff: 2000, bytes: 0 })
    expect(shipping.warnings).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/2000 events .*from the spool/) }),
    )
    await upAfterClose(shipping.emulator)
    const second = shipping.ship(small())
    expect(await second.flush()).toEqual({ complete: true, pending: 0 })
    expect(second.stats()).toMatchObject({ accepted: 2000, delivered: 2000, pending: 0, spool: { adopted: 2000 } })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(2000))
    expect(first.stats().pending).toBe(2000)
    await second.close()
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('hands off no event whose file was just removed: such events are dropped, counted and reported', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const first = shipping.ship(small())
    log(first, 2000)
    await expect.poll(() => files('.segment').length).toBeGreaterThan(8)
    await nextTurn()
    for (const path of files('.segment').slice(0, 4)) fs.rmSync(path)
    const { pending } = await first.close({ timeoutMs: 0 })
    const { dropped, drops } = first.stats()
    expect(dropped).toBeGreaterThan(100)
    expect([pending + dropped, Object.keys(drops)]).toEqual([2000, ['spool-damaged']])
    expect(shipping.warnings).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/were removed or replaced\. Events .* are lost/) }),
    )
    await upAfterClose(shipping.emulator)
    const second = shipping.ship(small())
    expect(await second.flush()).toEqual({ complete: true, pending: 0 })
    expect(second.stats()).toMatchObject({ delivered: pending, dropped: 0, spool: { adopted: pending } })
  })

  it('writes few files in each turn of the event loop, although events of many datasets are logged meanwhile', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship({ ...small(), dataset: ({ to }) => `d${to}`, maxBufferedBytes: 64_000_000 })
    const logToAll = () => range(2000).forEach(to => void shipper.ship({ to }))
    let [handedOff, most] = [0, 0]
    shipper.on('spooled', ({ isHandedOff }) => {
      if (isHandedOff) most = Math.max(most, ++handedOff)
    })
    logToAll()
    let isClosing = true
    const closed = shipper.close({ timeoutMs: 0 }).finally(() => {
      isClosing = false
    })
    for (let rounds = 0; isClosing; rounds++) {
      if (rounds % 20 === 0) logToAll()
      handedOff = 0
      await nextTurn()
    }
    expect(most).toBeLessThan(600)
    const { complete, pending } = await closed
    expect(complete).toBe(false)
    expect(pending).toBe(shipper.stats().accepted)
    await upAfterClose(shipping.emulator)
    expect(await shipper.flush({ timeoutMs: 30_000 })).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats().delivered).toBe(shipper.stats().accepted)
  })

  it('leaves them to a call with more time, which delivers them', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship({ ...small(), maxRetryDelayMs: 50 })
    log(shipper, 1000)
    const hurried = shipper.close({ timeoutMs: 300 })
    const patient = shipper.close({ timeoutMs: 10_000 })
    expect(await hurried).toEqual({ complete: false, pending: 1000 })
    await upAfterClose(shipping.emulator)
    expect(await patient).toEqual({ complete: true, pending: 0 })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(1000))
  })

  it('leaves them to a call with more time, also if that call has taken back earlier ones', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship({ ...small(), maxRetryDelayMs: 50 })
    log(shipper, 100)
    await shipper.close({ timeoutMs: 0 })
    await upAfterClose(shipping.emulator)
    shipping.emulator.faults.rejectRequests(({ n }) => n === 100, { status: 503 })
    shipper.ship({ level: 'info', n: 100 })
    const hurried = shipper.close({ timeoutMs: 500 })
    const patient = shipper.close({ timeoutMs: 10_000 })
    expect(await hurried).toEqual({ complete: false, pending: 1 })
    await upAfterClose(shipping.emulator)
    expect(await patient).toEqual({ complete: true, pending: 0 })
  })

  it('leaves events to the same shipper, whose counts stay exact', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship(small())
    log(shipper, 1000)
    await shipper.close({ timeoutMs: 0 })
    await shipper.close({ timeoutMs: 0 })
    await upAfterClose(shipping.emulator)
    shipper.ship({ n: 1000 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats()).toMatchObject({ accepted: 1001, delivered: 1001, pending: 0, spool: { handedOff: 0 } })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(1001))
  })

  it.each(['memory', 'disk'] as const)(
    'repeatedly, with events in between: at most maxBytes are on disk (durability %s)',
    async durability => {
      await using shipping = await startShipping()
      down(shipping.emulator)
      const maxBytes = 300_000
      const shipper = shipping.ship({ ...small({ maxBytes }), durability })
      for (const part of range(4)) {
        for (const i of range(1500)) shipper.ship({ level: 'info', n: part * 1500 + i, pad })
        await shipper.close({ timeoutMs: 0 })
        expect(bytesOnDisk()).toBeLessThanOrEqual(maxBytes)
        expectBooksToBalance(shipper)
      }
      const { pending, spool } = shipper.stats()
      expect(spool?.handedOff).toBe(pending)
      await upAfterClose(shipping.emulator)
      // One flush may take longer than the default time of a poll, and reports may be pending after it.
      await expect.poll(async () => (await shipper.flush()).pending, { timeout: 10_000 }).toBe(0)
      const reports = shipping.emulator.events('d').filter(({ n }) => n === undefined) // reports of short memory
      expect(shipping.emulator.eventCount('d') - reports.length).toBe(pending)
      await shipper.close()
      expect(fs.readdirSync(directory)).toEqual([])
    },
  )

  it('and again later: of the events it left, the oldest are dropped first', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const maxBytes = 300_000
    const shipper = shipping.ship({ ...small({ maxBytes }), durability: 'disk' })
    log(shipper, 1500)
    await shipper.close({ timeoutMs: 0 })
    await sleep(1000) // the names of directories have whole seconds
    shipper.ship({ n: 0, pad })
    await expect.poll(() => shipper.stats().spool?.handedOff).toBe(0)
    for (const i of range(1000)) shipper.ship({ level: 'info', n: 2000 + i, pad })
    expect(bytesOnDisk()).toBeLessThanOrEqual(maxBytes)
    await shipper.close({ timeoutMs: 0 })
    expect(bytesOnDisk()).toBeLessThanOrEqual(maxBytes)
    await upAfterClose(shipping.emulator)
    const next = shipping.ship(small())
    await next.flush()
    expect(ascending(arrived(shipping.emulator)).slice(-1000)).toEqual(range(1000).map(i => 2000 + i))
    expect(Object.keys(shipper.stats().drops)).toEqual(['spool-full'])
  })

  it('and adoption by another process: the events it left no longer count', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const maxBytes = 300_000
    const first = shipping.ship({ ...small({ maxBytes }), durability: 'disk' })
    log(first, 1000)
    await first.close({ timeoutMs: 0 })
    const second = shipping.ship({ ...small(), durability: 'disk' })
    await expect.poll(() => second.stats().spool?.adopted).toBeGreaterThan(900)
    await first.flush() // looks for directories to adopt
    log(first, 1000)
    await first.close({ timeoutMs: 0 })
    expect(first.stats().drops).toEqual({})
    expect(bytesOnDisk()).toBeGreaterThan(maxBytes)
  })

  it('and an event logged meanwhile: both are delivered', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship({ ...small(), durability: 'disk' })
    log(shipper, 100)
    const closed = shipper.close({ timeoutMs: 0 })
    shipper.on('warning', () => shipper.ship({ n: 100 })) // at the warning about the events that are left
    await closed
    await upAfterClose(shipping.emulator)
    await expect.poll(async () => (await shipper.flush()).pending).toBe(0)
    expect(new Set(arrived(shipping.emulator))).toEqual(new Set(range(101)))
    expectBooksToBalance(shipper)
  })
})

describe('orphaned events', () => {
  it('of eight shippers on one directory are delivered once, however many shippers follow', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const before = range(8).map(() => shipping.ship({ ...small(), durability: 'disk' }))
    for (const [i, shipper] of before.entries()) for (const n of range(50)) shipper.ship({ n: i * 50 + n })
    expect(fs.readdirSync(directory)).toHaveLength(8)
    await Promise.all(before.map(shipper => shipper.close({ timeoutMs: 0 })))
    await upAfterClose(shipping.emulator)
    const heirs = range(4).map(() => shipping.ship(small()))
    await Promise.all(heirs.map(shipper => shipper.flush()))
    expect(ascending(arrived(shipping.emulator))).toEqual(range(400))
    expect(heirs.reduce((sum, heir) => sum + (heir.stats().spool?.adopted ?? 0), 0)).toBe(400)
    await Promise.all(heirs.map(shipper => shipper.close()))
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('are not touched while their process lives', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const living = shipping.ship({ ...small(), durability: 'disk' })
    log(living, 10)
    const other = shipping.ship(small())
    expect(await other.flush()).toEqual({ complete: true, pending: 0 })
    expect(other.stats()).toMatchObject({ accepted: 0, spool: { adopted: 0 } })
  })

  it('for another service or organization are left to it, whatever the token', async () => {
    await using shipping = await startShipping()
    await using other = await startShipping()
    down(shipping.emulator)
    const first = shipping.ship({ ...small(), durability: 'disk' })
    log(first, 10)
    await first.close({ timeoutMs: 0 })
    await upAfterClose(shipping.emulator)
    const strangers = [
      other.ship(small()),
      shipping.ship({ ...small(), baseUrl: `${shipping.emulator.url}/edge` }),
      shipping.ship({ ...small(), orgId: 'another' }),
    ]
    for (const stranger of strangers) await stranger.flush()
    expect([arrived(other.emulator), arrived(shipping.emulator)]).toEqual([[], []])
    const heir = shipping.ship({ ...small(), baseUrl: `${shipping.emulator.url}//`, token: 'rotated' })
    await expect.poll(() => heir.stats().spool?.adopted).toBe(10)
  })

  it('are matched by address even if the address is too long for a directory name', async () => {
    const basePath = `/${'edge/'.repeat(60)}end`
    await using shipping = await startShipping({ basePath })
    down(shipping.emulator)
    const first = shipping.ship(small())
    log(first, 10)
    await first.close({ timeoutMs: 0 })
    await upAfterClose(shipping.emulator)
    const stranger = shipping.ship({ ...small(), baseUrl: `${shipping.emulator.url}/further` })
    await stranger.flush()
    expect(stranger.stats().accepted).toBe(0)
    const heir = shipping.ship(small())
    await heir.flush()
    expect(arrived(shipping.emulator)).toEqual(range(10))
  })

  it('take turns with new events', async () => {
    await using shipping = await startShipping()
    leave('20200101T000000Z-00000001', 10, 10, n => ({ n, fresh: false }))
    shipping.emulator.faults.latencyMs = 100 // the next batch is read from the disk meanwhile
    const shipper = shipping.ship({ spool: { directory }, maxBatchEvents: 10, maxConcurrentRequests: 1 })
    for (const n of range(100)) shipper.ship({ n, fresh: true })
    await shipper.flush()
    const order = shipping.emulator.events('d').filter((_, i) => i % 10 === 0)
    const turns = order.filter(({ fresh }, i) => i > 0 && fresh !== order[i - 1]?.fresh)
    expect(order).toHaveLength(20)
    expect(turns.length).toBeGreaterThanOrEqual(8) // of 19
  })

  it('for a refused dataset do not hold up those of another', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const dataset = (event: Readonly<Record<string, unknown>>) => String(event.to)
    const first = shipping.ship({ ...small(), dataset })
    for (const to of ['refused', 'taken']) log(first, 1000, { to })
    await first.close({ timeoutMs: 0 })
    await upAfterClose(shipping.emulator)
    shipping.emulator.faults.rejectRequests(({ to }) => to === 'refused', { status: 403 })
    const second = shipping.ship({ ...small(), dataset })
    expect(await second.flush({ timeoutMs: 1500 })).toEqual({ complete: false, pending: 1000 })
    expect(ascending(arrived(shipping.emulator, 'taken'))).toEqual(range(1000))
  })

  it('in hundreds of small files need few requests', async () => {
    await using shipping = await startShipping()
    leave('20200101T000000Z-00000001', 400, 3, n => ({ n }))
    for (const i of range(50))
      leave(`20200101T000001Z-${String(i).padStart(8, '0')}`, 1, 3, n => ({ n: 1200 + i * 3 + n }))
    const shipper = shipping.ship({ spool: { directory } })
    expect(await shipper.flush({ timeoutMs: 20_000 })).toEqual({ complete: true, pending: 0 })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(1350))
    expect(shipper.stats().requests).toBeLessThanOrEqual(28) // two to four of the 50 directories in each request
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it.each([
    ['in one directory', 1, 200],
    ['in a directory each', 200, 1],
  ])('are all delivered by a process with few file descriptors: 200 files %s', async (_, directories, segments) => {
    await using shipping = await startShipping()
    for (const i of range(directories)) {
      leave(`20200101T000000Z-${String(i).padStart(8, '0')}`, segments, 3, n => ({ n: i * 3 + n }))
    }
    const source = `import { createShipper } from 'logferry'
      const shipper = createShipper({ spool: { directory: ${JSON.stringify(directory)} }, dataset: 'd' })
      console.log(JSON.stringify([await shipper.close(), shipper.stats().dropped]))`
    const environment = {
      ...surroundings(),
      LOGFERRY_URL: shipping.emulator.url,
      LOGFERRY_TOKEN: shipping.emulator.token,
    }
    const limited = ['-c', 'ulimit -n 60 && exec "$@"', 'sh', process.execPath, '--input-type=module', '--eval', source]
    const child = spawn('sh', limited, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', data => {
      said += data
    })
    await once(child, 'close')
    expect(JSON.parse(said)).toEqual([{ complete: true, pending: 0 }, 0])
    expect(ascending(arrived(shipping.emulator))).toEqual(range(600))
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('in many directories are adopted a few directories at a time, and the next after delivery', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    for (const i of range(100)) leave(`20200101T000000Z-${String(i).padStart(8, '0')}`, 1, 3, n => ({ n: i * 3 + n }))
    const shipper = shipping.ship(small())
    await expect.poll(() => shipper.stats().spool?.adopted).toBe(4 * 3)
    shipping.emulator.faults.clear()
    await expect.poll(() => ascending(arrived(shipping.emulator)), { timeout: 5000 }).toEqual(range(300))
  })

  it('of several processes that exceed the room wait for their turn, and are not dropped', async () => {
    await using shipping = await startShipping()
    for (const i of range(3)) leave(`20200101T00000${i}Z-00000000`, 5, 50, n => ({ n: i * 250 + n, pad }))
    const before = bytesOnDisk()
    const shipper = shipping.ship(small({ maxBytes: Math.ceil(before * 0.6) }))
    for (let i = 0; i < 3; i++) await shipper.flush()
    expect(ascending(arrived(shipping.emulator))).toEqual(range(750))
    expect(shipper.stats()).toMatchObject({ accepted: 750, delivered: 750, dropped: 0 })
  })

  it('of one process that exceed maxBytes lose their oldest', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    leave('20200101T000000Z-00000001', 40, 50, n => ({ n, pad }))
    const shipper = shipping.ship(small({ maxBytes: 200_000 }))
    await expect.poll(() => shipper.stats().spool?.adopted).toBe(2000)
    expect(bytesOnDisk()).toBeLessThanOrEqual(200_000)
    expect(shipper.stats().drops['spool-full']?.info).toBe(shipper.stats().dropped)
    shipping.emulator.faults.clear()
    await shipper.flush()
    const numbers = ascending(arrived(shipping.emulator))
    expect(numbers).toHaveLength(2000 - shipper.stats().dropped)
    expect(numbers).toContain(1999)
    expectBooksToBalance(shipper)
  })

  it('in a damaged spool: only damaged events are lost, counted and reported', async () => {
    await using shipping = await startShipping()
    leave('20200101T000000Z-00000001', 2, 100, n => ({ n }))
    const [path] = files('.segment') as [string]
    const bytes = fs.readFileSync(path)
    bytes[bytes.indexOf('"n":50}')] = 0
    fs.writeFileSync(path, bytes)
    fs.writeFileSync(join(directory, '20200101T000000Z-00000001', '000000000009.segment'), 'garbage')
    const shipper = shipping.ship(small())
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(200).filter(n => n !== 50))
    expect(shipper.stats()).toMatchObject({ accepted: 201, delivered: 199, drops: { 'spool-damaged': { unknown: 2 } } })
    expect(shipping.warnings).toMatchObject([
      { code: 'LOGFERRY_SPOOL', message: expect.stringContaining('is damaged') },
    ])
    expect(files('.segment')).toEqual([])
  })

  it('damaged after adoption: only damaged events are lost, counted and reported', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    leave('20200101T000000Z-00000001', 20, 100, n => ({ n, pad }))
    const shipper = shipping.ship(small())
    await expect.poll(() => shipper.stats().spool?.adopted).toBe(2000)
    const last = files('.segment').sort().at(-1) as string
    const bytes = fs.readFileSync(last)
    bytes[bytes.indexOf('"n":1950,')] = 0
    fs.writeFileSync(last, bytes)
    shipping.emulator.faults.clear()
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(2000).filter(n => n !== 1950))
    expect(shipper.stats()).toMatchObject({
      accepted: 2000,
      delivered: 1999,
      drops: { 'spool-damaged': { unknown: 1 } },
    })
  })

  it('damaged while callers wait for its events: no event is confirmed that is lost', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    const shipper = shipping.ship(small())
    const confirmed: number[] = []
    const inDoubt: number[] = []
    const waiting = range(400).map(async n => {
      await shipper.shipAndConfirm({ n, pad }).then(
        () => confirmed.push(n),
        ({ code, dropReason }) => {
          expect([code, dropReason]).toEqual(['LOGFERRY_DROPPED', undefined])
          inDoubt.push(n)
        },
      )
    })
    await expect.poll(() => files('.segment').length).toBeGreaterThan(1)
    const path = files('.segment').find(file => fs.readFileSync(file).includes('"n":20,')) as string
    const bytes = fs.readFileSync(path)
    bytes[bytes.indexOf('"n":20,')] = 0
    fs.writeFileSync(path, bytes)
    shipping.emulator.faults.clear()
    await Promise.all(waiting)
    expect(ascending(arrived(shipping.emulator))).toEqual(range(400).filter(n => n !== 20))
    expect(confirmed).not.toContain(20)
    expect(inDoubt).toContain(20)
    expect(confirmed.length).toBeGreaterThan(200)
  })

  it.runIf(isRoot)('of another user are neither read nor removed, and a warning tells of them', async () => {
    await using shipping = await startShipping()
    leave('20200101T000000Z-00000001', 1, 5, n => ({ n }))
    leave('20200101T000000Z-00000002', 2, 5, n => ({ n }))
    fs.chownSync(join(directory, '20200101T000000Z-00000001'), 12_345, 12_345)
    fs.chownSync(join(directory, '20200101T000000Z-00000002', '000000000001.segment'), 12_345, 12_345)
    fs.symlinkSync('20200101T000000Z-00000001', join(directory, '20200101T000000Z-00000003'))
    const warnings: string[] = []
    const shipper = shipping.ship(small()).on('warning', ({ message }) => warnings.push(message))
    await shipper.flush()
    expect(ascending(arrived(shipping.emulator))).toEqual(range(5).map(n => n + 5))
    await shipper.close()
    expect(warnings).toEqual([
      expect.stringMatching(/a directory belongs to another user .*spool send.* \(chown -R\)\.$/),
    ])
    const kept = ['20200101T000000Z-00000001', '20200101T000000Z-00000002'].map(name => join(directory, name))
    for (const path of kept) expect(fs.readdirSync(path)).toContain('000000000001.segment')
  })

  it('stay for the next shipper if one closes while it adopts them, however long Redis takes then', async () => {
    await using shipping = await startShipping({ org: {} })
    shipping.emulator.faults.latencyMs = 60_000
    const { orgId, accessToken } = shipping.emulator
    const redis = { call: () => new Promise(() => {}), eval: () => new Promise(() => {}) }
    leave('20200101T000000Z-00000001', 40, 1, n => ({ n, text: 'x'.repeat(1_100_000) })) // each is adopted by itself
    const roomy = { ...small(), maxBufferedBytes: 8_388_608 }
    const shipper = shipping.ship({ ...roomy, limits: { orgId, accessToken, fleet: { redis } } })
    shipper.ship({ n: 40 })
    await shipper.close({ timeoutMs: 30 })
    const { pending, spool } = shipper.stats()
    expect(spool?.handedOff).toBe(pending)
    const next = shipping.ship(roomy)
    await expect.poll(() => next.stats().spool?.adopted, { timeout: 15_000 }).toBe(41)
  })

  it('that are adopted during the last flush of close() are delivered within its time', async () => {
    await using shipping = await startShipping()
    const latenciesMs = [200, 300, 1300] // the last one is longer than close() waits for connections
    shipping.emulator.faults.latencyMs = () => latenciesMs.shift() ?? 0
    const shipper = shipping.ship(small())
    await shipper.flush()
    shipper.ship({ n: 5 })
    const closed = shipper.close({ timeoutMs: 10_000 })
    await sleep(100)
    shipper.ship({ n: 6 }) // is part of the last flush
    await expect.poll(() => shipper.stats()).toMatchObject({ delivered: 1, requestsInFlight: 1 })
    leave('20200101T000000Z-00000001', 1, 5, n => ({ n }))
    void shipper.flush()
    await closed
    expect(shipper.stats()).toMatchObject({ delivered: 7, pending: 0, spool: { adopted: 5, handedOff: 0 } })
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('stay for the next shipper if one closes while it adopts them', async () => {
    await using shipping = await startShipping()
    for (const i of range(20)) leave(`20200101T000000Z-${String(i).padStart(8, '0')}`, 2, 5, n => ({ n: i * 10 + n }))
    const first = shipping.ship(small())
    await new Promise(resolve => setImmediate(resolve))
    await first.close({ timeoutMs: 0 })
    await sleep(20)
    const second = shipping.ship(small())
    expect(await second.flush()).toEqual({ complete: true, pending: 0 })
    expect(new Set(arrived(shipping.emulator))).toEqual(new Set(range(200)))
    for (const shipper of [first, second]) expectBooksToBalance(shipper)
    expect((first.stats().spool?.handedOff ?? 0) + first.stats().delivered).toBe(first.stats().accepted)
    await second.close()
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('in a file larger than memory allows stay, with a warning, and later ones are delivered', async () => {
    await using shipping = await startShipping()
    leave('20260101T000000Z-00000001', 1, 1000, n => ({ n, pad }))
    leave('20260101T000001Z-00000002', 1, 10, n => ({ n: 1000 + n, pad }))
    const shipper = shipping.ship(small())
    await expect.poll(() => ascending(arrived(shipping.emulator))).toEqual(range(10).map(n => 1000 + n))
    expect(shipping.warnings).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/too large for maxBufferedBytes/) }),
    ])
    const other = shipping.ship({ ...small(), maxBufferedBytes: 1_048_576 }) // although the first one is still open
    expect(await other.flush()).toEqual({ complete: true, pending: 0 })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(1010))
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
  })

  it('are delivered beside any number of files that are larger than memory allows', async () => {
    await using shipping = await startShipping()
    for (const i of range(6)) leave(`20260101T00000${i}Z-00000001`, 1, 1000, n => ({ n, pad }))
    leave('20260101T000006Z-00000001', 3, 10, n => ({ n, pad }))
    leave('20260101T000006Z-00000002', 1, 1000, n => ({ n, pad }))
    leave('20260101T000007Z-00000001', 1, 10, n => ({ n: 30 + n, pad }))
    const shipper = shipping.ship(small())
    expect(await shipper.flush({ timeoutMs: 10_000 })).toEqual({ complete: true, pending: 0 })
    expect(ascending(arrived(shipping.emulator))).toEqual(range(40))
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(files('.segment')).toHaveLength(7)
    const other = shipping.ship({ ...small(), maxBufferedBytes: 1_048_576 })
    expect(await other.flush({ timeoutMs: 10_000 })).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(7040)
  })

  it('are not dropped for an event larger than the whole spool', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    leave('20200101T000000Z-00000001', 40, 5, n => ({ n, pad }))
    const shipper = shipping.ship({ spool: { directory, maxBytes: 65_536 }, durability: 'disk', maxRetryDelayMs: 50 })
    await expect.poll(() => shipper.stats().spool?.adopted).toBe(200)
    shipper.ship({ n: 200, pad: 'x'.repeat(200_000) })
    expect(shipper.stats()).toMatchObject({ accepted: 201, dropped: 0 })
    shipping.emulator.faults.clear()
    await shipper.flush()
    expect(ascending(arrived(shipping.emulator))).toEqual(range(201))
  })

  it('and files with other names beside them: the other files stay', async () => {
    await using shipping = await startShipping()
    leave('20200101T000000Z-00000001', 1, 5, n => ({ n }))
    const others = ['notes.txt', 'backup/000000000001.segment', '20200101T000000Z-00000001/notes.txt']
    fs.mkdirSync(join(directory, 'backup'))
    for (const other of others) fs.writeFileSync(join(directory, other), 'mine')
    const shipper = shipping.ship(small())
    await shipper.close()
    expect(arrived(shipping.emulator)).toHaveLength(5)
    expect(files().sort()).toEqual(others.map(other => join(directory, other)).sort())
  })
})

describe('scenario 17: a disk that fails', () => {
  /** The application goes on logging, memory takes as many events as it can, and the others are counted. */
  async function expectToLiveWithout(shipper: Shipper, emulator: Emulator, warnings: readonly { message: string }[]) {
    for (const _ of range(10)) {
      log(shipper, 200)
      await sleep(1)
    }
    const { dropped, drops, spool, bufferedBytes } = shipper.stats()
    expect(spool?.isInTrouble).toBe(true)
    expect(bufferedBytes).toBeLessThanOrEqual(131_072)
    expect(Object.keys(drops)).toEqual(['memory'])
    expect(warnings.filter(({ message }) => /the spool in .* cannot be used/.test(message))).toHaveLength(1)
    emulator.faults.clear()
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(arrived(emulator).filter(n => n !== undefined)).toHaveLength(2000 - dropped)
    expectBooksToBalance(shipper)
  }

  it.each(['memory', 'disk'] as const)(
    'because a file is in the place of its directory (durability %s)',
    async durability => {
      await using shipping = await startShipping()
      down(shipping.emulator)
      fs.writeFileSync(directory, '')
      const shipper = shipping.ship({ ...small({ directory: join(directory, 'below') }), durability })
      await expectToLiveWithout(shipper, shipping.emulator, shipping.warnings)
    },
  )

  const canMount = isRoot && mounts(tmpdir())
  it.runIf(canMount)('because it is read-only', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    using _ = mounted(directory, 'ro')
    const shipper = shipping.ship({ ...small(), durability: 'disk' })
    await expectToLiveWithout(shipper, shipping.emulator, shipping.warnings)
    expect(shipping.warnings.some(({ message }) => message.includes('cannot be used (EROFS)'))).toBe(true)
  })

  it.runIf(canMount)(
    'because it is read-only: no process adopts what others left, as each one could, again and again',
    async () => {
      await using shipping = await startShipping()
      using disk = mounted(directory, 'size=1m')
      const name = '20200101T000000Z-00000001'
      leave(name, 1, 5, n => ({ n }))
      fs.writeFileSync(join(directory, name, 'lock'), '')
      disk.remount('ro')
      for (const _ of range(2)) await shipping.ship(small()).close()
      expect(arrived(shipping.emulator)).toEqual([])
      expect(shipping.warnings.filter(({ message }) => message.includes('cannot be locked (EROFS)'))).toHaveLength(2)
      disk.remount('rw')
      await shipping.ship(small()).close()
      expect(arrived(shipping.emulator)).toEqual(range(5))
    },
  )

  it.runIf(canMount)('because it is full: it is used again when there is room', async () => {
    await using shipping = await startShipping()
    down(shipping.emulator)
    using disk = mounted(directory, 'size=128k')
    const shipper = shipping.ship(small())
    log(shipper, 2000)
    expect(shipper.stats().spool?.isInTrouble).toBe(true)
    const { dropped, pending } = shipper.stats()
    expect(dropped).toBeGreaterThan(0)
    await sleep(1)
    expect(
      shipping.warnings.filter(({ message }) =>
        /cannot be used \(ENOSPC\).* The disk is full\. Make room/.test(message),
      ),
    ).toHaveLength(1)
    disk.remount('size=16m')
    await shipper.close({ timeoutMs: 0 })
    expect(shipper.stats()).toMatchObject({ dropped, pending, spool: { handedOff: pending, isInTrouble: false } })
    await upAfterClose(shipping.emulator)
    const next = shipping.ship(small())
    await next.close()
    expect(next.stats()).toMatchObject({ accepted: pending, delivered: pending, dropped: 0 })
  })
})

describe('with durability disk', () => {
  it.runIf(isRoot && mounts(tmpdir()))(
    'events on a disk that is full at the end are left to the next process',
    async () => {
      await using shipping = await startShipping()
      down(shipping.emulator)
      using _ = mounted(directory, 'size=128k')
      const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
      log(shipper, 2000)
      await shipper.close({ timeoutMs: 0 })
      const { dropped, spool } = shipper.stats()
      const left = spool?.handedOff ?? 0
      expect(left).toBeGreaterThan(100)
      expect(dropped).toBe(2000 - left)
      expectBooksToBalance(shipper)
      shipping.emulator.faults.clear()
      const next = shipping.ship({ spool: { directory } })
      await next.close()
      expect(next.stats().delivered).toBe(left)
      expect(arrived(shipping.emulator)).toEqual(range(left))
    },
  )
})

interface Mounted extends Disposable {
  remount(options: string): void
}

function mounted(path: string, options: string): Mounted {
  fs.mkdirSync(path, { recursive: true })
  mustRunSync('mount', ['-t', 'tmpfs', '-o', `mode=0700,${options}`, 'tmpfs', path])
  return {
    remount: other => void mustRunSync('mount', ['-o', `remount,${other}`, path]),
    [Symbol.dispose]: () => void mustRunSync('umount', ['-l', path]),
  }
}

function mounts(parent: string): boolean {
  const path = fs.mkdtempSync(join(parent, 'logferry-mount-'))
  try {
    using _ = mounted(path, 'size=64k')
    return true
  } catch {
    return false
  } finally {
    fs.rmdirSync(path)
  }
}

describe('scenario 31: no file', () => {
  it('holds a token, whatever happens', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'not this one')
    const shipper = shipping.ship({ ...small(), durability: 'disk' })
    for (const n of range(3)) shipper.ship({ n })
    await shipper.flush()
    down(shipping.emulator)
    for (const n of range(3)) shipper.ship({ n })
    await shipper.close({ timeoutMs: 0 })
    expect(
      files()
        .map(path => path.slice(path.lastIndexOf('.')))
        .sort(),
    ).toContain('.segment')
    for (const path of files()) expect(fs.readFileSync(path, 'latin1')).not.toContain(shipping.emulator.token)
  })
})
