import { scryptSync } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Credentials } from '../../src/http/credentials.ts'
import { LicenseFile } from '../../src/org/license-file.ts'
import { OrgError } from '../../src/org/org-error.ts'
import { until } from '../support/until.ts'

const name = 'b'.repeat(32)
const maxAgeMs = 10_000

let directory: string
beforeEach(() => {
  directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-license-')), 'rates')
})
afterEach(() => fs.rmSync(join(directory, '..'), { recursive: true, force: true }))

function open(onWaited = () => {}, at = directory, credentials?: Credentials): LicenseFile {
  return new LicenseFile({ directory: at, key: () => 'b'.repeat(64), credentials, onWaited })
}

function openWith(token: string): LicenseFile {
  return open(undefined, undefined, new Credentials(token))
}

const refused = new OrgError('UNAUTHORIZED', 'the service refuses the token (status 403: no scope)', { status: 403 })
const refuse = () => Promise.reject(refused)

function pathOf(what: 'license' | 'reader'): string {
  return join(directory, `${name}.${what}`)
}

/** Lets a process read the license, and waits until others find it. */
async function published(text: string): Promise<void> {
  await open().get(async () => text, maxAgeMs)
  await until(() => fs.existsSync(pathOf('license')) && !fs.existsSync(pathOf('reader')), 'the license is published')
}

function age(path: string, byMs: number): void {
  const at = new Date(Date.now() - byMs)
  fs.utimesSync(path, at, at)
}

describe('the license of processes on one machine', () => {
  it('is read by one of those that start at the same time, and given to all', async () => {
    let reads = 0
    const onWaited = vi.fn()
    const read = async () => {
      await sleep(100)
      return `{"n":${++reads}}`
    }
    const texts = await Promise.all(Array.from({ length: 40 }, () => open(onWaited).get(read, maxAgeMs)))
    expect(texts).toEqual(texts.map(() => '{"n":1}'))
    expect(reads).toBe(1)
    expect(onWaited).toHaveBeenCalledTimes(1)
  })

  it('is read again when it is older than wanted', async () => {
    await published('{"n":1}')
    await sleep(60)
    expect(await open().get(async () => '{"n":2}', 50)).toBe('{"n":2}')
    await until(() => fs.readFileSync(pathOf('license'), 'utf8').includes('2}'), 'the new license is published')
    expect(await open().get(async () => '{"n":3}', maxAgeMs)).toBe('{"n":2}')
  })

  it('may have any characters, on one line or several', async () => {
    const text = `${JSON.stringify({ name: 'Zoë 😀 \u2028' })}\n`.trim().replace(',', ',\n')
    await published(text)
    expect(await open().get(async () => '{}', maxAgeMs)).toBe(text)
  })

  it('is read by another process three seconds after one has failed, which throws what its read threw', async () => {
    const failing = open().get(() => Promise.reject(new Error('403')), maxAgeMs)
    await expect(failing).rejects.toThrow('403')
    const onWaited = vi.fn()
    const other = open(onWaited).get(async () => '{"n":2}', maxAgeMs)
    await sleep(300)
    expect(onWaited).not.toHaveBeenCalled()
    age(pathOf('reader'), 3100)
    expect(await other).toBe('{"n":2}')
  })

  it('is asked for once by those that start at the same time with a token that the service refuses', async () => {
    const read = vi.fn(refuse)
    const onWaited = vi.fn()
    const processes = Array.from({ length: 40 }, () => open(onWaited, directory, new Credentials('secret-token')))
    const errors = await Promise.all(processes.map(one => one.get(read, maxAgeMs).catch((error: unknown) => error)))
    expect(errors).toEqual(errors.map(() => refused))
    expect(read).toHaveBeenCalledTimes(1)
    expect(onWaited).toHaveBeenCalledTimes(40)
  })

  it('is asked for again three seconds after a refusal, so that a token that may read it by then is known', async () => {
    await expect(openWith('secret-token').get(refuse, maxAgeMs)).rejects.toThrow(refused)
    await until(() => fs.readFileSync(pathOf('reader'), 'utf8') !== '', 'the refusal is published')
    await expect(openWith('secret-token').get(async () => '{"n":1}', maxAgeMs)).rejects.toThrow(refused)
    age(pathOf('reader'), 3100)
    expect(await openWith('secret-token').get(async () => '{"n":1}', maxAgeMs)).toBe('{"n":1}')
  })

  it('is not kept from other tokens by a refusal, even ones that differ by a header', async () => {
    await expect(openWith('secret-token').get(refuse, maxAgeMs)).rejects.toThrow(refused)
    await until(() => fs.readFileSync(pathOf('reader'), 'utf8') !== '', 'the refusal is published')
    const ofOrganization = open(undefined, directory, new Credentials('secret-token', 'x-org-id', 'acme'))
    const others = [openWith('other-token'), ofOrganization, open()]
    const texts = others.map(other => other.get(async () => '{"n":1}', maxAgeMs))
    await sleep(300)
    age(pathOf('reader'), 3100)
    expect(await Promise.all(texts)).toEqual(['{"n":1}', '{"n":1}', '{"n":1}'])
  })

  it('has no token, and nothing that tells it quickly, in its files', async () => {
    await expect(openWith('secret-token').get(refuse, maxAgeMs)).rejects.toThrow(refused)
    await until(() => fs.readFileSync(pathOf('reader'), 'utf8') !== '', 'the refusal is published')
    const [, text = ''] = /^\d{13} (.*)\n$/.exec(fs.readFileSync(pathOf('reader'), 'utf8')) ?? []
    const { salt, proof, ...rest } = JSON.parse(text) as Record<string, string>
    expect(rest).toEqual({ status: 403, message: 'the service refuses the token (status 403: no scope)' })
    const headers = JSON.stringify(new Credentials('secret-token').headers())
    expect(proof).toBe(scryptSync(headers, salt as string, 16, { N: 4096 }).toString('hex')) // slow, with another salt each time
    expect(fs.statSync(pathOf('reader')).mode & 0o777).toBe(0o600)
  })

  it('is read although a process that was killed had begun to', async () => {
    fs.mkdirSync(directory, { mode: 0o700 })
    fs.writeFileSync(pathOf('reader'), '')
    age(pathOf('reader'), 3100)
    expect(await open().get(async () => '{"n":1}', maxAgeMs)).toBe('{"n":1}')
  })

  it('is read at once after the process that read it has closed, or has ended', async () => {
    const never = () => new Promise<string>(() => {})
    const tooOldAlways = -1 // in milliseconds: what was read in this one is too old as well
    for (const ending of ['close', 'release'] as const) {
      const onWaited = vi.fn()
      const first = open(onWaited)
      void first.get(never, tooOldAlways)
      await until(() => onWaited.mock.calls.length > 0, 'the first process reads')
      first[ending]()
      expect(await open().get(async () => `{"after":"${ending}"}`, tooOldAlways)).toBe(`{"after":"${ending}"}`)
    }
  })

  it('is read by each process, one soon after another, if the disk is full', async () => {
    fs.mkdirSync(directory, { mode: 0o700 })
    const files = process.getBuiltinModule('node:fs')
    const { writeFileSync } = files
    const full = vi.spyOn(files, 'writeFileSync').mockImplementation((...given) => {
      writeFileSync(...given)
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    })
    onTestFinished(() => full.mockRestore())
    for (const text of ['{"n":1}', '{"n":2}']) expect(await open().get(async () => text, maxAgeMs)).toBe(text)
    expect(fs.readdirSync(directory)).toEqual([])
  })

  it('is read although the clock was set back since another process has read it', async () => {
    await published('{"n":1}')
    fs.writeFileSync(pathOf('license'), `${Date.now() + 60_000} {"n":1}\n`)
    fs.writeFileSync(pathOf('reader'), '')
    age(pathOf('reader'), -60_000)
    expect(await open().get(async () => '{"n":2}', maxAgeMs)).toBe('{"n":2}')
  })

  it('is not waited for any longer after close()', async () => {
    fs.mkdirSync(directory, { mode: 0o700 })
    fs.writeFileSync(pathOf('reader'), '')
    const read = vi.fn(async () => '{}')
    const waiting = open()
    const text = waiting.get(read, maxAgeMs)
    waiting.close()
    await expect(text).rejects.toThrow('closed while another process read the license')
    expect(read).not.toHaveBeenCalled()
  })

  it('is for its owner only', async () => {
    await published('{"n":1}')
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
    expect(fs.statSync(pathOf('license')).mode & 0o777).toBe(0o600)
  })

  it.each<[string, (path: string) => void]>([
    ['is a symbolic link', path => fs.symlinkSync(`${path}.target`, path)],
    ['has a second name', path => fs.linkSync(`${path}.target`, path)],
    ['is a directory', path => fs.mkdirSync(path)],
    ['is larger than 64 KiB', path => fs.writeFileSync(path, `${Date.now()} {"n":"${'x'.repeat(65_536)}"}\n`)],
    ['has no time', path => fs.writeFileSync(path, '{"n":"hostile"}\n')],
    ['is cut off', path => fs.writeFileSync(path, `${Date.now()} {"n":"hostile"`)],
    ['is no object', path => fs.writeFileSync(path, `${Date.now()} "hostile"\n`)],
  ])('is not taken from a file that %s', async (_, make) => {
    fs.mkdirSync(directory, { mode: 0o700 })
    fs.writeFileSync(`${pathOf('license')}.target`, `${Date.now()} {"n":"hostile"}\n`)
    make(pathOf('license'))
    expect(await open().get(async () => '{"n":1}', maxAgeMs)).toBe('{"n":1}')
    await sleep(100)
    expect(fs.readFileSync(`${pathOf('license')}.target`, 'utf8')).toContain('hostile') // nothing was written to it
  })

  it.runIf(process.geteuid?.() === 0)('is neither taken from a directory of another user, nor put there', async () => {
    await published('{"n":"hostile"}')
    fs.chownSync(directory, 65_534, 65_534)
    expect(await open().get(async () => '{"n":1}', maxAgeMs)).toBe('{"n":1}')
    await sleep(100)
    expect(fs.readFileSync(pathOf('license'), 'utf8')).toContain('hostile')
  })

  it('is read by each process if the disk cannot be used', async () => {
    expect(await open(() => {}, '/proc/none/rates').get(async () => '{"n":1}', maxAgeMs)).toBe('{"n":1}')
  })
})
