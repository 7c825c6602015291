import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { SharedRate } from '../../src/delivery/rate-limiter.ts'
import { RateTable } from '../../src/delivery/rate-table.ts'
import { UnsafePath } from '../../src/files/private-directory.ts'

const key = 'a'.repeat(64)
const rowBytes = 128

let directory: string
beforeEach(() => {
  directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-rates-')), 'rates')
})
afterEach(() => fs.rmSync(join(directory, '..'), { recursive: true, force: true }))

function rate(requestsPerSecond: number, more: Partial<SharedRate> = {}): SharedRate {
  return {
    requestsPerSecond,
    refusedPart: 0.0125,
    sinceRefusedMs: 3000,
    acceptedPerSecond: 0.75,
    refusedPerSecond: 0.25,
    sinceAcceptedMs: 400,
    isTrial: false,
    isMaximum: false,
    nextStartMs: 0,
    ...more,
  }
}

function pathOfTable(): string {
  return join(directory, `${key.slice(0, 32)}.rates`)
}

describe('a table of rates', () => {
  it('tells each process the rates of all others, with what belongs to them', async () => {
    const [one, two, three] = [open(), open(), open()]
    expect(await one.exchange(rate(39.2, { isMaximum: true }))).toEqual([])
    expect(await two.exchange(rate(0.05, { isTrial: true }))).toMatchObject([
      { requestsPerSecond: 39.2, refusedPart: 0.0125, isTrial: false, isMaximum: true },
    ])
    expect(await one.exchange(rate(39.2))).toMatchObject([{ acceptedPerSecond: 0.75, refusedPerSecond: 0.25 }])
    expect(await three.exchange(rate(1))).toHaveLength(2)
    expect((await one.exchange(rate(20))).filter(({ isTrial }) => isTrial)).toMatchObject([{ requestsPerSecond: 0.05 }])
    expect((await two.exchange(rate(2))).map(({ requestsPerSecond }) => requestsPerSecond).sort()).toEqual([1, 20])
  })

  it('keeps each row to itself, however high the rate', async () => {
    const [one, two, three] = [open(), open(), open()]
    await one.exchange(rate(1))
    const largest = { sinceRefusedMs: 1e15, sinceAcceptedMs: Number.POSITIVE_INFINITY, nextStartMs: 1e15 }
    await two.exchange(rate(2e15, { ...largest, acceptedPerSecond: 2e15, refusedPerSecond: 2e15 }))
    await three.exchange(rate(3))
    await two.exchange(rate(2e15, { ...largest, acceptedPerSecond: 2e15, refusedPerSecond: 2e15 }))
    expect(fs.statSync(pathOfTable()).size % rowBytes).toBe(0)
    const rates = (await open().read()).map(({ requestsPerSecond }) => requestsPerSecond).sort()
    expect(rates).toEqual([1, 3, 999_999_999])
  })

  it('tells when the next request of each process is due, as time goes on', async () => {
    const [one, two] = [open(), open()]
    const startedMs = Date.now()
    await one.exchange(rate(0.1, { nextStartMs: 123_456 }))
    await one.exchange(rate(0.1, { nextStartMs: 50.4 }))
    await sleep(100)
    const [heard] = await two.exchange(rate(0.1))
    const atMs = Date.now() + (heard?.nextStartMs ?? Number.NaN)
    expect(heard?.nextStartMs).toBeLessThan(0)
    expect(atMs).toBeGreaterThanOrEqual(startedMs + 50 - 2)
    expect(atMs).toBeLessThan(startedMs + 50 + 100)
  })

  it("can be read without a row of one's own, and creates nothing for that", async () => {
    const [one, newcomer] = [open(), open()]
    expect(await newcomer.read()).toEqual([])
    expect(fs.existsSync(directory)).toBe(false)
    await one.exchange(rate(7))
    const before = fs.readFileSync(pathOfTable(), 'utf8')
    expect(await newcomer.read()).toMatchObject([{ requestsPerSecond: 7 }])
    expect(fs.readFileSync(pathOfTable(), 'utf8')).toBe(before)
  })

  it('tells no time as earlier or later than it was told, if the clock of the machine has been set back since', async () => {
    await open().exchange(rate(1, { sinceAcceptedMs: 400, nextStartMs: 100 }))
    const row = fs.readFileSync(pathOfTable(), 'latin1')
    const later = row.replace(/ (\d{13}) /, (_, atMs) => ` ${Number(atMs) + 4000} `)
    fs.writeFileSync(pathOfTable(), later, 'latin1')
    expect(await open().read()).toMatchObject([{ sinceAcceptedMs: 400, nextStartMs: 100, sinceRefusedMs: 3000 }])
  })

  it('can be read while it is missing and processes of another organization use the directory', async () => {
    await new RateTable(directory, () => 'c'.repeat(64)).exchange(rate(7))
    expect(await open().read()).toEqual([])
  })

  it('is not read if nobody has written to it for some seconds', async () => {
    await open().exchange(rate(7))
    fs.utimesSync(pathOfTable(), new Date(), new Date(Date.now() - 7000))
    expect(await open().read()).toEqual([])
  })

  it('has no row of a process that has left', async () => {
    const [one, two] = [open(), open()]
    await one.exchange(rate(1))
    await two.exchange(rate(2))
    one.leave()
    one.leave()
    expect(await two.exchange(rate(2))).toEqual([])
    await one.exchange(rate(3))
    expect(await two.exchange(rate(2))).toMatchObject([{ requestsPerSecond: 3 }])
  })

  it('has no row of a process that has left while it told its rate', async () => {
    const [one, two] = [open(), open()]
    const exchange = one.exchange(rate(1))
    one.leave()
    expect(await exchange).toEqual([])
    expect(await two.exchange(rate(2))).toEqual([])
  })

  it('holds no file open between turns of the event loop: the descriptor may be the last one', async () => {
    const one = open()
    const exchange = one.exchange(rate(1))
    expect(fs.readFileSync(pathOfTable(), 'utf8')).toContain(' 1.0000 ')
    await exchange
  })

  it.runIf(process.geteuid?.() === 0)('is not looked for in a directory of another user', async () => {
    await open().exchange(rate(7))
    fs.chownSync(directory, 65_534, 65_534)
    expect(await open().read()).toEqual([])
  })

  it('makes no 429 more recent, however often processes pass its time on to each other', async () => {
    const refusedAtMs = Date.now() - 2300
    const processes = [open(), open(), open()].map(table => ({ table, refusedAtMs }))
    for (let turn = 0; turn < 60; turn++) {
      const one = processes[turn % 3] as (typeof processes)[number]
      const heard = await one.table.exchange(rate(1, { sinceRefusedMs: Date.now() - one.refusedAtMs }))
      const heardMs = heard.map(({ sinceRefusedMs }) => Date.now() - sinceRefusedMs)
      one.refusedAtMs = Math.max(one.refusedAtMs, ...heardMs)
      await sleep(10)
    }
    for (const one of processes) expect(one.refusedAtMs - refusedAtMs).toBeLessThan(100)
  })

  it('shows most of forty processes that start at the same time, at once', async () => {
    await Promise.all(Array.from({ length: 40 }, () => open().exchange(rate(1))))
    expect((await open().read()).length).toBeGreaterThan(25)
  })

  it('has one row for each of a hundred processes that start at the same time, after a few exchanges', async () => {
    const tables = Array.from({ length: 100 }, open)
    let heard: number[] = []
    for (let round = 0; (round < 30 && Math.min(...heard, 99) < 99) || heard.length === 0; round++) {
      heard = (await Promise.all(tables.map(table => table.exchange(rate(1))))).map(others => others.length)
    }
    expect(heard).toEqual(tables.map(() => 99))
    expect(fs.statSync(pathOfTable()).size).toBeLessThan(228 * rowBytes)
  })

  it('is for its owner only', async () => {
    await open().exchange(rate(1))
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
    expect(fs.statSync(pathOfTable()).mode & 0o777).toBe(0o600)
  })

  it('ignores rows that are old, from the future, malformed or out of range, and uses them again', async () => {
    const now = Date.now()
    const rows = [
      `0123456789ab ${now - 7000} 1.0000 0.0000 1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now + 60_000} 1.0000 0.0000 1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now} 0.0000 0.0000 1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now} -1.000 0.0000 1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now} 1e9 0.0000 1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now} Infinity 0.0000 1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now} 1.0000 1.5000 1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now} 1.0000 0.0000 -1 0.7500 0.2500 400 0 --`,
      `0123456789ab ${now} 1.0000 0.0000 1 0.7500 0.2500 400 -1 --`,
      `0123456789ab ${now} 1.0000 0.0000 1 1e9 0.2500 400 0 --`,
      `0123456789ab ${now} 1.0000 0.0000 1 0.7500 -0.250 400 0 --`,
      `0123456789ab ${now} 1.0000 0.0000 1 0.7500 0.2500 -1 0 --`,
      `0123456789AB ${now} 1.0000 0.0000 1 0.7500 0.2500 400 0 --`,
      '\0'.repeat(40),
      '{"__proto__": 1}',
    ]
    fs.mkdirSync(directory, { mode: 0o700 })
    const one = open()
    fs.writeFileSync(pathOfTable(), rows.map(row => `${row.padEnd(rowBytes - 1)}\n`).join(''))
    fs.appendFileSync(pathOfTable(), `0123456789ab ${now} 3.0000 0.0000 1 0.7500 0.2500 400 0 --`.padEnd(rowBytes - 1))
    expect(await one.exchange(rate(1))).toEqual([])
    expect(fs.statSync(pathOfTable()).size).toBeLessThanOrEqual(128 * rowBytes)
  })

  it('reads no more than 1,024 rows of a file, however large it is, and adds none if they are taken', async () => {
    fs.mkdirSync(directory, { mode: 0o700 })
    const one = open()
    const row = (index: number) =>
      `${index.toString(16).padStart(12, '0')} ${Date.now()} 1.0000 0.0000 1 0.7500 0.2500 400 0 --`
    const rows = Array.from({ length: 1500 }, (_, index) => `${row(index).padEnd(rowBytes - 1)}\n`)
    fs.writeFileSync(pathOfTable(), rows.join(''))
    expect(await one.exchange(rate(1))).toHaveLength(1024)
    expect(fs.readFileSync(pathOfTable(), 'utf8')).toBe(rows.join(''))
  })

  it('follows no symbolic link', async () => {
    fs.mkdirSync(directory, { mode: 0o700 })
    const one = open()
    fs.writeFileSync(join(directory, 'other'), 'kept')
    fs.symlinkSync(join(directory, 'other'), pathOfTable())
    await expect(one.exchange(rate(1))).rejects.toMatchObject({ code: 'ELOOP' })
    expect(fs.readFileSync(join(directory, 'other'), 'utf8')).toBe('kept')
  })

  it('is not used in a directory that another user may write to', async () => {
    fs.mkdirSync(directory)
    fs.chmodSync(directory, 0o777)
    await expect(open().exchange(rate(1))).rejects.toThrow(UnsafePath)
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('is not used if it has a second name', async () => {
    const one = open()
    await one.exchange(rate(1))
    fs.linkSync(pathOfTable(), join(directory, 'second'))
    await expect(one.exchange(rate(1))).rejects.toThrow(UnsafePath)
  })

  it.runIf(process.geteuid?.() === 0)('is not used if it is of another user', async () => {
    const one = open()
    await one.exchange(rate(1))
    fs.chownSync(pathOfTable(), 65_534, 65_534)
    await expect(one.exchange(rate(1))).rejects.toThrow(UnsafePath)
  })

  it('is made again if its directory was removed', async () => {
    const [one, two] = [open(), open()]
    await one.exchange(rate(1))
    fs.rmSync(directory, { recursive: true })
    await expect(one.exchange(rate(1))).rejects.toMatchObject({ code: 'ENOENT' })
    await one.exchange(rate(1))
    expect(await two.exchange(rate(1))).toHaveLength(1)
  })

  it('is removed an hour after its last use, when another one is first used; other files stay', async () => {
    await open().exchange(rate(1))
    const [old, foreign] = [join(directory, `${'b'.repeat(32)}.rates`), join(directory, 'notes.rates')]
    for (const path of [old, foreign]) {
      fs.writeFileSync(path, '')
      fs.utimesSync(path, 0, Date.now() / 1000 - 3700)
    }
    await open().exchange(rate(1))
    expect(fs.readdirSync(directory).sort()).toEqual([`${key.slice(0, 32)}.rates`, 'notes.rates'])
  })
})

function open(): RateTable {
  return new RateTable(directory, () => key)
}
