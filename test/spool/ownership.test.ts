/** Each directory of a spool has one owner at a time, which notices what other programs do to it. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Emulator } from '../../src/emulator.ts'
import { Spool } from '../../src/spool/spool.ts'
import { startShipping } from '../support/shipping.ts'
import { type RunningProcess, startNode } from '../support/start-node.ts'
import { until } from '../support/until.ts'
import { upAfterClose } from '../support/up-after-close.ts'
import { FakeDisk, type Mount } from './fake-disk.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

interface Place extends Disposable {
  readonly directory: string
}

/** A directory for a spool, which is removed with everything beside it. */
function startPlace(): Place {
  const parent = fs.mkdtempSync(join(tmpdir(), 'logferry-owner-'))
  return {
    directory: join(parent, 'spool'),
    [Symbol.dispose]: () => fs.rmSync(parent, { recursive: true }),
  }
}

const range = (count: number) => Array.from({ length: count }, (_, n) => n)
/** An owner checks its directory once a second. The machine may be slow. */
const noticedAfterMs = 1500

function startShipper(directory: string, emulator: Emulator, source: string): RunningProcess {
  const start = `
    import * as fs from 'node:fs'
    import { join } from 'node:path'
    import { createShipper } from 'logferry'
    const directory = ${JSON.stringify(directory)}
    // The process sends nothing during a test, so everything that arrives was on disk.
    const shipper = createShipper({ spool: { directory }, dataset: 'd', durability: 'disk', maxBatchAgeMs: 60_000 })`
  const environment = { LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token }
  return startNode(['--input-type=module', '--eval', start + source], environment)
}

/** Logs all the time, and prints the number of returned log calls. */
async function startOwner(directory: string, emulator: Emulator, meanwhile = ''): Promise<RunningProcess> {
  const owner = startShipper(
    directory,
    emulator,
    `
    let n = 0
    setInterval(() => {
      for (let i = 0; i < 5; i++) shipper.ship({ n: n++ })
      ${meanwhile}
      fs.writeSync(1, n + '\\n')
    }, 10)`,
  )
  await owner.until(/^\d{3,}$/m)
  return owner
}

/**
 * Kills an owner. Returns the numbers of the events that it has printed. Up to five more may be on disk, if the owner was
 * killed between its log calls and the print.
 */
async function kill(owner: RunningProcess): Promise<number[]> {
  await owner.end('SIGKILL')
  const said = owner.stdout().split('\n').slice(0, -1)
  return range(Number(said.at(-1)))
}

function ownDirectory(directory: string): string {
  const [name] = fs.readdirSync(directory)
  return join(directory, name as string)
}

/** Returns the numbers of the logged events that have not arrived. */
function lost(logged: readonly number[], emulator: Emulator): number[] {
  const arrived = new Set(emulator.events('d').map(({ n }) => n))
  return logged.filter(n => !arrived.has(n))
}

function remove(path: string, ...endings: string[]): void {
  for (const name of fs.readdirSync(path)) {
    if (endings.some(ending => name.endsWith(ending))) fs.unlinkSync(join(path, name))
  }
}

describe.concurrent('an owner stays the owner, and no event is lost when it is killed,', () => {
  const readAll = `for (const { name, parentPath } of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    try {
      fs.readFileSync(join(parentPath, name))
    } catch {}
  }`
  it.each([
    ['reads all files of its spool', readAll, () => {}],
    ['loses its lock file', '', (directory: string) => remove(ownDirectory(directory), 'lock')],
    ['loses its socket', '', (directory: string) => remove(ownDirectory(directory), '.alive')],
    [
      'loses its lock for a while to a process that then sees the socket',
      readAll,
      async (directory: string) => {
        const adopter = new DatabaseSync(join(ownDirectory(directory), 'lock'), { timeout: 1000 })
        adopter.exec('BEGIN EXCLUSIVE')
        await sleep(noticedAfterMs)
        adopter.close()
      },
    ],
  ])('although it %s', async (_, meanwhile, spoil) => {
    using place = startPlace()
    const { directory } = place
    await using shipping = await startShipping()
    await using owner = await startOwner(directory, shipping.emulator, meanwhile)
    await spoil(directory)
    const other = shipping.ship({ spool: { directory } })
    await other.flush()
    await sleep(noticedAfterMs)
    expect(fs.readdirSync(ownDirectory(directory))).toEqual(
      expect.arrayContaining(['lock', expect.stringMatching(/\.alive$/)]),
    )
    await other.flush()
    expect(other.stats()).toMatchObject({ accepted: 0, spool: { adopted: 0 } })
    const logged = await kill(owner)
    expect(await other.flush()).toEqual({ complete: true, pending: 0 })
    expect(lost(logged, shipping.emulator)).toEqual([])
    expect(logged.length).toBeGreaterThan(99)
    expect(other.stats().delivered).toBe(shipping.emulator.events('d').length)
    expect(owner.stderr()).toBe('')
  })
})

describe.concurrent('an owner that is killed a second after', () => {
  const removed = /LOGFERRY_SPOOL\] .*20\d{6}T\d{6}Z-\S+ was removed or replaced\. No event is lost/
  const gone = /LOGFERRY_SPOOL\] .*files in \S+ were removed or replaced\. No event is lost/
  it.each([
    [
      'its directory was removed',
      (directory: string) => fs.rmSync(ownDirectory(directory), { recursive: true }),
      removed,
    ],
    ['the whole spool was removed', (directory: string) => fs.rmSync(directory, { recursive: true }), removed],
    ['the whole spool was moved away', (directory: string) => fs.renameSync(directory, `${directory}-old`), removed],
    ['its segments were removed', (directory: string) => remove(ownDirectory(directory), '.segment'), gone],
    ['its segments were emptied', (directory: string) => eachSegment(directory, path => fs.truncateSync(path)), gone],
    ['its segments were replaced', (directory: string) => eachSegment(directory, replace), gone],
    [
      'all of its files were removed',
      (directory: string) => remove(ownDirectory(directory), '.segment', '.alive', 'lock'),
      gone,
    ],
  ])('%s loses no event, and has warned', async (_, spoil, warning) => {
    using place = startPlace()
    const { directory } = place
    await using shipping = await startShipping()
    await using owner = await startOwner(directory, shipping.emulator)
    spoil(directory)
    await owner.until(warning)
    const logged = await kill(owner)
    expect(logged.length).toBeGreaterThan(100)
    const heir = shipping.ship({ spool: { directory } })
    expect(await heir.flush()).toEqual({ complete: true, pending: 0 })
    expect(lost(logged, shipping.emulator)).toEqual([])
    expect(owner.stderr()).toMatch(warning)
  })

  it('its files got other inode numbers has written no event twice, and has not warned', async () => {
    using place = startPlace()
    const { directory } = place
    await using shipping = await startShipping()
    const source = `
      for (let n = 0; n < 100; n++) shipper.ship({ n })
      setInterval(() => fs.writeSync(1, 'logged\\n'), 100)`
    await using owner = startShipper(directory, shipping.emulator, source)
    await owner.until(/logged/)
    eachSegment(directory, renumber)
    await sleep(noticedAfterMs)
    await owner.end('SIGKILL')
    const heir = shipping.ship({ spool: { directory } })
    expect(await heir.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.events('d').map(({ n }) => n)).toEqual(range(100))
    expect(owner.stderr()).toBe('')
  })

  it('another process adopted its directory has released it, and loses no event', async () => {
    using place = startPlace()
    const { directory } = place
    await using shipping = await startShipping()
    await using owner = await startOwner(directory, shipping.emulator)
    const [first] = fs.readdirSync(directory)
    const other = shipping.ship({ spool: { directory } })
    remove(ownDirectory(directory), '.alive', 'lock')
    await other.flush() // at once, before the owner has repaired it
    const takenOver = other.stats().spool?.adopted ?? 0
    expect(takenOver).toBeGreaterThan(0)
    await until(() => !fs.readdirSync(directory).includes(first as string), 'the owner has released the directory')
    await owner.until(/LOGFERRY_SPOOL/)
    const logged = await kill(owner)
    expect(logged.length).toBeGreaterThan(takenOver)
    await other.flush()
    expect(lost(logged, shipping.emulator)).toEqual([])
    expect(owner.stderr()).toMatch(/LOGFERRY_SPOOL/)
  })
})

describe('a process whose lock and socket are removed', () => {
  const states: string[] = []
  const inherited: number[] = []
  const line = Buffer.from(`{"pad":"${'x'.repeat(200_000)}"}\n`)
  let disk: FakeDisk
  let place: Place
  beforeEach(() => {
    place = startPlace()
    disk = new FakeDisk()
    states.length = 0
    inherited.length = 0
  })
  afterEach(() => place[Symbol.dispose]())

  const spoolOf = (mount: Mount) =>
    new Spool({ directory: place.directory, maxBytes: 300_000, destination: 'd', isWriteThrough: false }, mount.disk, {
      makeRoom: () => false,
      onTrouble: error => expect.fail(String(error)),
      onRetry: () => {},
      onFull: () => expect.fail('the spool is full'),
      onVanished: ({ what }) => states.push(what),
      onMore: () => {},
    })
  const listeners = {
    isTooLarge: () => false,
    onAdopted: (all: readonly unknown[]) => void inherited.push(all.length),
    onLost: () => expect.fail('events lost'),
    onRefused: () => expect.fail('records refused'),
    onSetAside: () => expect.fail('records set aside'),
    onUnreadable: (error: unknown) => expect.fail(String(error)),
    onForeign: () => expect.fail(),
  }

  it('no longer counts events that another process adopted towards maxBytes', async () => {
    const first = spoolOf(disk.mount())
    const second = spoolOf(disk.mount())
    const copy = first.write('d', line, new Uint8Array(1))
    copy?.seal()
    expect(copy?.exists).toBe(true)
    disk.clean('signs', () => true)
    await second.adoptOrphans(listeners)
    expect([inherited, second.usedBytes]).toEqual([[1], first.usedBytes])
    await sleep(50) // until its claim is due
    first.skipBackoff()
    expect([states, first.usedBytes]).toEqual([['taken'], 0])
    expect(first.write('d', line, new Uint8Array(1))?.exists).toBe(true)
  })

  it('does not adopt its own directory', async () => {
    const spool = spoolOf(disk.mount())
    expect(spool.write('d', line, new Uint8Array(1))?.exists).toBe(true)
    disk.clean('signs', () => true)
    await spool.adoptOrphans(listeners)
    expect([inherited, states]).toEqual([[], []])
  })
})

function eachSegment(directory: string, spoil: (path: string) => void): void {
  for (const name of fs.readdirSync(ownDirectory(directory)))
    if (name.endsWith('.segment')) spoil(join(ownDirectory(directory), name))
}

/** Does what file systems such as sshfs do when they have forgotten a file. */
function renumber(path: string): void {
  fs.copyFileSync(path, `${path}~`)
  fs.renameSync(`${path}~`, path)
}

function replace(path: string): void {
  fs.writeFileSync(`${path}~`, Buffer.alloc(fs.statSync(path).size + 1_000_000))
  fs.renameSync(`${path}~`, path)
}

it('a running process touches its files, so that cleaners of old files leave them', async () => {
  using place = startPlace()
  const { directory } = place
  await using shipping = await startShipping()
  shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  try {
    const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
    shipper.ship({ n: 0 })
    const paths = [
      ownDirectory(directory),
      ...fs.readdirSync(ownDirectory(directory)).map(name => join(ownDirectory(directory), name)),
    ]
    expect(paths).toHaveLength(4)
    for (const path of paths) fs.lutimesSync(path, 1e9, 1e9)
    await vi.advanceTimersByTimeAsync(3_605_000)
    vi.useRealTimers()
    const areYoung = () => paths.every(path => Date.now() - fs.lstatSync(path).mtimeMs < 60_000)
    await until(areYoung, 'all is touched')
  } finally {
    vi.useRealTimers()
  }
})

it('each directory is adopted by one of two processes that adopt at the same time', async () => {
  using place = startPlace()
  const { directory } = place
  await using shipping = await startShipping()
  const { emulator } = shipping
  emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const rounds = 50
  for (const n of range(rounds)) {
    const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
    shipper.ship({ n })
    await shipper.close({ timeoutMs: 0 })
  }
  await upAfterClose(emulator)
  const source = `
    await shipper.flush({ timeoutMs: 20_000 })
    fs.writeSync(1, shipper.stats().spool.adopted + ' adopted\\n')
    setInterval(() => {}, 1000)`
  await using one = startShipper(directory, emulator, source)
  await using other = startShipper(directory, emulator, source)
  await Promise.all([one.until(/adopted/), other.until(/adopted/)])
  await until(() => emulator.eventCount('d') >= rounds, 'all has arrived')
  const numbers = emulator.events('d').map(({ n }) => n as number)
  expect(numbers.sort((a, b) => a - b)).toEqual(range(rounds))
  const adopted = [one, other].map(process => Number.parseInt(process.stdout(), 10))
  expect((adopted[0] as number) + (adopted[1] as number)).toBe(rounds)
})
