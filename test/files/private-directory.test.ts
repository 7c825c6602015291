/** A spool that other users could change is not used: they could redirect our events, or make us write files. */
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePrivateDirectory } from '../../src/files/make-private-directory.ts'
import { assertPrivate } from '../../src/files/private-directory.ts'
import { runScript } from '../support/run-script.ts'
import { mustRunSync, runSync } from '../support/run-sync.ts'
import { startShipping } from '../support/shipping.ts'

const isRoot = process.getuid?.() === 0
const other = 1234
const group = 2345

let home: string
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'logferry-private-'))
})
afterEach(() => fs.rmSync(home, { recursive: true }))

/** Makes a directory and its parent. Both belong to us, and to us alone unless the options say otherwise. */
interface Made {
  readonly mode?: number
  readonly user?: number
  readonly group?: number
}

function make(name: string, { mode = 0o700, user = 0, group = 0 }: Made = {}): string {
  const path = join(home, name)
  fs.mkdirSync(path)
  fs.chownSync(path, user, group)
  fs.chmodSync(path, mode)
  return path
}

function last(...paths: readonly string[]): string {
  return paths.at(-1) as string
}

function link(target: string, name: string, user: number): string {
  const path = join(home, name)
  fs.symlinkSync(target, path)
  fs.lchownSync(path, user, user)
  return path
}

const refused: [string, () => string, RegExp][] = [
  ['it belongs to another user', () => make('a', { user: other }), /a belongs to another user \(id 1234\)/],
  ['its parent does', () => `${make('a', { user: other })}/none/yet`, /a belongs to another user/],
  ['all may write to it', () => make('a', { mode: 0o777 }), /any user may write to \S+\/a; run chmod o-w/],
  ['it is like /tmp', () => make('a', { mode: 0o1777 }), /any user may write to \S+\/a; use a directory below it/],
  ['all may write to it, though it is sticky', () => make('a', { mode: 0o1777 }), /any user may write/],
  ['all may write to its parent', () => last(make('a', { mode: 0o777 }), make('a/b')), /any user may write to \S+\/a;/],
  [
    'a group may write to it',
    () => make('a', { mode: 0o2770, group }),
    /the group 2345 may write to \S+\/a; run chmod g-w/,
  ],
  [
    'another user has put a link there',
    () => last(make('a'), link(join(home, 'a'), 'l', other)),
    /l belongs to another user/,
  ],
  [
    'a link leads to what another has',
    () => last(make('a', { user: other }), link('a/b', 'l', 0)),
    /a belongs to another/,
  ],
  ['a link leads to itself', () => link('l', 'l', 0), /a symbolic link in a chain of more than/],
]

const accepted: [string, () => string][] = [
  ['is not there yet', () => join(home, 'a', 'b')],
  ['is for us alone', () => make('a')],
  ['may be read by all', () => make('a', { mode: 0o755 })],
  ['may be written by our own group', () => make('a', { mode: 0o775 })],
  ['is in a sticky directory', () => last(make('a', { mode: 0o1777 }), make('a/b'))],
  [
    'is behind a link of our own',
    () => last(make('a'), make('a/b'), make('c'), link('../a', 'c/l', 0), join(home, 'c/l/b')),
  ],
  ['is behind a link that goes up', () => last(make('a'), make('c'), link('a/../c', 'l', 0))],
]

describe.runIf(isRoot)('a directory', () => {
  it.each(refused)('is refused if %s', async (_, path, why) => {
    const directory = path()
    expect(() => assertPrivate(directory)).toThrow(why)
  })

  it.each(accepted)('is accepted if it %s', (_, path) => {
    assertPrivate(path())
  })
})

describe.runIf(isRoot && canMount())('a volume of root', () => {
  const mount = (options: string): string => {
    const path = join(home, 'volume')
    fs.mkdirSync(path, { recursive: true })
    mustRunSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path])
    return path
  }
  afterEach(() => mustRunSync('umount', ['-l', join(home, 'volume')]))

  it('is accepted with its group, as a container gets it', () => {
    const volume = mount(`mode=2777,uid=0,gid=${group}`)
    assertPrivate(volume)
    make('volume/spool', { mode: 0o2770, group }) // a volume applies its group to everything in it
    assertPrivate(join(volume, 'spool'))
    make('volume/all', { mode: 0o777 })
    expect(() => assertPrivate(join(volume, 'all'))).toThrow(/any user may write/)
    make('volume/theirs', { user: other })
    expect(() => assertPrivate(join(volume, 'theirs'))).toThrow(/belongs to another user/)
  })

  it('is refused if it belongs to another user', () => {
    const volume = mount(`mode=0700,uid=${other}`)
    expect(() => assertPrivate(volume)).toThrow(/belongs to another user/)
  })
})

function canMount(): boolean {
  const path = fs.mkdtempSync(join(tmpdir(), 'logferry-mount-'))
  try {
    mustRunSync('mount', ['-t', 'tmpfs', 'tmpfs', path])
    mustRunSync('umount', ['-l', path])
    return true
  } catch {
    return false
  } finally {
    fs.rmdirSync(path)
  }
}

// Node's own recursive creation of a directory never returns there.
it.runIf(process.platform === 'linux')('a spool in a file system that refuses directories is reported', () => {
  const source = `import { createShipper } from '${new URL('../../src/index.ts', import.meta.url)}'
    const options = { baseUrl: 'http://127.0.0.1:9', token: 't', dataset: 'd', exitTimeoutMs: 0 }
    createShipper({ ...options, spool: { directory: '/proc/none/spool' }, durability: 'disk' }).ship({ n: 1 })`
  const args = ['--input-type=module', '--eval', source]
  const { status, stderr } = runSync(process.execPath, args)
  expect(status).toBe(0)
  expect(stderr).toContain('the spool in /proc/none/spool cannot be used (ENOENT)')
})

it('makes parents of a directory that are missing, for this user alone', () => {
  const path = join(home, 'a', 'b', 'c')
  makePrivateDirectory(path)
  makePrivateDirectory(path)
  expect(['a', 'a/b', 'a/b/c'].map(name => fs.statSync(join(home, name)).mode & 0o777)).toEqual([0o700, 0o700, 0o700])
  fs.writeFileSync(join(home, 'file'), '')
  expect(() => makePrivateDirectory(join(home, 'file', 'c'))).toThrow('ENOTDIR')
  expect(() => makePrivateDirectory(join(home, 'file'))).toThrow('EEXIST')
  fs.symlinkSync(join(home, 'a'), join(home, 'link'))
  makePrivateDirectory(join(home, 'link'))
})

it('makes directories that their owner can use, whatever the umask', async () => {
  const module = new URL('../../src/files/make-private-directory.ts', import.meta.url)
  const path = join(home, 'a', 'b')
  const source = `
    import { makePrivateDirectory } from '${module}'
    process.umask(0o177) // for files: without the right to enter a directory
    makePrivateDirectory(${JSON.stringify(path)})`
  expect(await runScript(source)).toMatchObject({ code: 0, stderr: '' })
  expect(['a', 'a/b'].map(name => fs.statSync(join(home, name)).mode & 0o777)).toEqual([0o700, 0o700])
})

describe.runIf(isRoot)('a spool that is refused', () => {
  it.each([
    ['belongs to another user', () => make('spool', { user: other })],
    ['may be written by all', () => make('spool', { mode: 0o777 })],
    ['is a link of another user', () => last(make('a'), link(join(home, 'a'), 'spool', other))],
  ])('because it %s is reported, neither written nor read, and events are delivered from memory', async (_, path) => {
    await using shipping = await startShipping()
    const directory = path()
    const victim = join(home, 'victim')
    fs.writeFileSync(victim, 'ours')
    fs.symlinkSync(victim, join(directory, 'rejected.ndjson'))
    fs.mkdirSync(join(directory, '20200101T000000Z-00000001'))
    const before = fs.readdirSync(directory, { recursive: true })
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'no')
    const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
    for (const n of [0, 1, 2]) shipper.ship({ n })
    expect(shipper.stats().spool?.isInTrouble).toBe(true)
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipper.stats()).toMatchObject({ delivered: 2, drops: { rejected: { info: 1 } } })
    expect(fs.readdirSync(directory, { recursive: true })).toEqual(before)
    expect(fs.readFileSync(victim, 'utf8')).toBe('ours')
    const messages = shipping.warnings.filter(({ code }) => code === 'LOGFERRY_SPOOL').map(({ message }) => message)
    const why = /the spool in \S+ cannot be used \(.*(another user|any user).*\).* no other user owns or may write to/
    expect(messages).toContainEqual(expect.stringMatching(why))
  })

  it.each([
    ['the path is that of a device', '/dev/null', /cannot be used \(ENOTDIR\).* A part of the path is a file/],
    ['a part of the path is a device', '/dev/null/spool', /cannot be used \(ENOTDIR\).* A part of the path is a file/],
    ['its name is too long', `/tmp/${'x'.repeat(256)}`, /cannot be used \(ENAMETOOLONG\).* Choose a shorter one/],
  ])('is not to blame for its rights if %s', async (_, directory, why) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
    shipper.ship({ n: 0 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    const messages = shipping.warnings.map(({ message }) => message)
    expect(messages).toEqual([expect.stringMatching(why)])
  })

  it('is not to blame for its locks if its path is too long for them', async () => {
    await using shipping = await startShipping()
    const directory = join(home, 'x'.repeat(250), 'y'.repeat(250))
    const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
    shipper.ship({ n: 0 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    const messages = shipping.warnings.map(({ message }) => message)
    expect(messages).toEqual([expect.stringMatching(/cannot be used \(ENAMETOOLONG\).* Choose a shorter one/)])
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('is used as soon as it is private', async () => {
    await using shipping = await startShipping()
    const directory = make('spool', { mode: 0o777 })
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const shipper = shipping.ship({ spool: { directory }, durability: 'disk' })
    shipper.ship({ n: 0 })
    fs.chmodSync(directory, 0o700)
    await shipper.close({ timeoutMs: 0 })
    expect(shipper.stats()).toMatchObject({ dropped: 0, spool: { handedOff: 1, isInTrouble: false } })
  })
})
