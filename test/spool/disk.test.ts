import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Claim } from '../../src/spool/claim.ts'
import { nodeDisk as disk } from '../../src/spool/disk.ts'
import { directoryName } from '../../src/spool/file-names.ts'
import { directoriesIn, segmentsIn } from '../../src/spool/spool-directory.ts'
import { mustRunSync } from '../support/run-sync.ts'

const diskModule = new URL('../../src/spool/disk.ts', import.meta.url).href
const isRoot = process.getuid?.() === 0
const all = () => true

let root: string
const claims: (Claim | undefined)[] = []
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'logferry-disk-'))
})
afterEach(() => {
  for (const claim of claims.splice(0)) claim?.release()
  fs.rmSync(root, { recursive: true })
})

function claim(path: string): boolean {
  const claimed = disk.claim(path)
  claims.push(claimed)
  return claimed !== undefined
}

async function adopt(path: string): Promise<boolean> {
  const claimed = await disk.adopt(path)
  claims.push(claimed)
  return claimed !== undefined
}

/** As a copy leaves a database that breaks off. */
function writePartOfDatabase(path: string): void {
  const database = new DatabaseSync(path)
  database.exec('CREATE TABLE events (event)')
  database.close()
  fs.truncateSync(path, fs.statSync(path).size / 2)
}

function made(name: string): string {
  const path = join(root, name)
  disk.makeDirectory(path)
  return path
}

function write(path: string, text: string): void {
  const file = disk.create(path)
  expect(disk.write(file, Buffer.from(`-${text}-`), 1, text.length + 1)).toBe(text.length)
  disk.close(file)
}

const modeOf = (path: string) => fs.lstatSync(path).mode & 0o777

describe('scenario 33: files and directories', () => {
  it.each([0o022, 0])('are accessible to their owner only, with umask %o', mask => {
    const before = process.umask(mask)
    try {
      const directory = made(join('new', 'spool', 'one'))
      write(join(directory, 'a.segment'), 'text')
      expect(claim(directory)).toBe(true)
      for (const path of [directory, join(directory, '..')]) expect(modeOf(path)).toBe(0o700)
      for (const name of fs.readdirSync(directory)) expect([name, modeOf(join(directory, name))]).toEqual([name, 0o600])
      const socket = expect.stringMatching(/^[0-9a-f]{8}\.alive$/)
      expect(fs.readdirSync(directory)).toHaveLength(3)
      expect(fs.readdirSync(directory)).toEqual(expect.arrayContaining(['a.segment', 'lock', socket]))
    } finally {
      process.umask(before)
    }
  })

  it('contain the written bytes, and report their number', async () => {
    write(join(root, 'a'), 'some text')
    expect(String(await disk.read(join(root, 'a')))).toBe('some text')
    expect(await disk.list(root, all)).toEqual([{ name: 'a', isDirectory: false, bytes: 9 }])
    await disk.sync(join(root, 'a'))
  })

  it('are read into a given buffer if they fit, and into a new one otherwise', async () => {
    const path = join(made('one'), 'a.segment')
    write(path, 'text')
    const scratch = Buffer.alloc(4)
    expect(await disk.read(path, scratch)).toEqual(Buffer.from('text'))
    expect(scratch.toString()).toBe('text')
    const small = Buffer.alloc(3)
    expect((await disk.read(path, small)).toString()).toBe('text')
    expect(small).toEqual(Buffer.alloc(3))
  })

  it('are opened before a call to read or sync returns, so that no thread takes the last descriptor later', async () => {
    const path = join(root, 'a')
    write(path, 'text')
    const [reading, syncing] = [disk.read(path), disk.sync(path)]
    fs.rmSync(path)
    expect(String(await reading)).toBe('text')
    await syncing
  })

  it('that are pipes are no content, and nobody waits for it', async () => {
    const path = join(root, 'pipe')
    mustRunSync('mkfifo', [path])
    expect(await disk.read(path, Buffer.alloc(10))).toHaveLength(0)
  })

  it('are listed without blocking the event loop, however many', async () => {
    for (let i = 0; i < 2000; i++) fs.writeFileSync(join(root, `${i}`), '')
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    expect(await disk.list(root, all)).toHaveLength(2000)
    clearInterval(timer)
    expect(turns).toBeGreaterThan(4)
  })

  it('are not examined if other programs have made them, however many', async () => {
    const made = directoryName(new Date(), '0000000a', 'd')
    fs.mkdirSync(join(root, made))
    for (let i = 0; i < 100; i++) {
      fs.writeFileSync(join(root, `foreign\n${i}`), '')
      fs.writeFileSync(join(root, made, `foreign\n${i}`), '')
    }
    const lstat = vi.spyOn(fs.promises, 'lstat')
    try {
      expect(await directoriesIn(root, disk)).toEqual([made])
      expect(await segmentsIn(root, made, disk)).toEqual([])
      expect(lstat.mock.calls).toEqual([[join(root, made)]])
    } finally {
      lstat.mockRestore()
    }
  })

  it('are never overwritten', () => {
    write(join(root, 'a'), 'first')
    expect(() => disk.create(join(root, 'a'))).toThrow(/EEXIST/)
  })

  it('can be removed even if they, or their directory, are already gone', async () => {
    disk.remove(join(root, 'none'))
    expect(await disk.list(join(root, 'none'), all)).toEqual([])
  })

  it('that cannot be used cause the error of the system', async () => {
    fs.writeFileSync(join(root, 'file'), '')
    const below = join(root, 'file', 'below')
    expect(() => disk.makeDirectory(below)).toThrow(/ENOTDIR/)
    await expect(disk.list(join(root, 'file'), all)).rejects.toThrow(/ENOTDIR/)
    expect(() => disk.create(below)).toThrow(/ENOTDIR/)
    expect(() => disk.remove(below)).toThrow(/ENOTDIR/)
    expect(() => disk.claim(join(root, 'file'))).toThrow(/ENOTDIR/)
    await expect(disk.read(below)).rejects.toThrow(/ENOTDIR/)
    await expect(disk.sync(below)).rejects.toThrow(/ENOTDIR/)
  })

  it.runIf(fs.existsSync('/proc/self/fd'))('are not held open when writing, reading or claiming fails', async () => {
    const before = fs.readdirSync('/proc/self/fd').length
    const file = made('directory')
    for (let i = 0; i < 50; i++) {
      await disk.read(file).catch(() => {})
      await disk.sync(file).catch(() => {})
      fs.writeFileSync(join(file, 'lock'), 'this is no database, but something else '.repeat(30))
      disk.claim(file)?.release()
    }
    expect(fs.readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 5)
  })

  it('that cannot be read are not taken for empty ones', async () => {
    const directory = made('directory') // is opened as a file is, but each read of it fails
    write(join(directory, 'a.segment'), 'text')
    await expect(disk.read(directory)).rejects.toThrow(/EISDIR/)
    await expect(disk.read(directory, Buffer.alloc(65_536))).rejects.toThrow(/EISDIR/)
  })

  it('that are links are neither listed, nor read, nor written', async () => {
    const target = join(root, 'target')
    fs.writeFileSync(target, 'private')
    const directory = made('directory')
    fs.symlinkSync(target, join(directory, 'a.segment'))
    fs.symlinkSync(directory, join(root, 'link'))
    expect(await disk.list(directory, all)).toEqual([])
    expect((await disk.list(root, all)).map(({ name }) => name)).not.toContain('link')
    await expect(disk.read(join(directory, 'a.segment'))).rejects.toThrow(/ELOOP/)
    await expect(disk.sync(join(directory, 'a.segment'))).rejects.toThrow(/ELOOP/)
    expect(() => disk.create(join(directory, 'a.segment'))).toThrow(/EEXIST/)
    disk.remove(join(directory, 'a.segment'))
    expect(fs.readFileSync(target, 'utf8')).toBe('private')
  })

  it.runIf(isRoot)('of another user are not listed', async () => {
    made('theirs')
    write(join(root, 'their-file'), 'text')
    for (const name of ['theirs', 'their-file']) fs.chownSync(join(root, name), 12_345, 12_345)
    made('ours')
    expect((await disk.list(root, all)).map(({ name }) => name)).toEqual(['ours'])
  })

  it('with other names stay, and so does their directory', () => {
    const directory = made('directory')
    fs.writeFileSync(join(directory, 'notes.txt'), 'mine')
    expect(() => disk.removeDirectory(directory)).toThrow(/ENOTEMPTY/)
    expect(fs.readdirSync(directory)).toEqual(['notes.txt'])
  })
})

describe('a claim', () => {
  it('is exclusive, even within one process', () => {
    const directory = made('directory')
    const first = disk.claim(directory)
    expect(claim(directory)).toBe(false)
    first?.release()
    expect(claim(directory)).toBe(true)
  })

  it('of a directory that was removed, also by its adopter, is not granted', () => {
    expect(claim(join(root, 'none'))).toBe(false)
    const directory = made('directory')
    disk.claim(directory)?.release()
    disk.removeDirectory(directory)
    expect(claim(directory)).toBe(false)
    expect(fs.existsSync(directory)).toBe(false)
  })

  it('is exclusive across threads', async () => {
    const directory = made('directory')
    const source = `import { parentPort } from 'node:worker_threads'
      import { nodeDisk } from ${JSON.stringify(diskModule)}
      let claim
      parentPort.on('message', () => {
        claim ??= nodeDisk.claim(${JSON.stringify(directory)})
        parentPort.postMessage(claim !== undefined)
      })`
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`))
    const claimsIt = async () => {
      const answer = once(worker, 'message')
      worker.postMessage('claim')
      return (await answer)[0]
    }
    const first = disk.claim(directory)
    expect(await claimsIt()).toBe(false)
    first?.release()
    expect(await claimsIt()).toBe(true)
    expect(claim(directory)).toBe(false)
    await worker.terminate()
  })

  it('is free as soon as its process is killed', async () => {
    const directory = made('directory')
    const source = `import { nodeDisk } from ${JSON.stringify(diskModule)}
      console.log(nodeDisk.claim(${JSON.stringify(directory)}) !== undefined)
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [said] = await once(child.stdout, 'data')
    expect(String(said).trim()).toBe('true')
    expect(claim(directory)).toBe(false)
    expect(await adopt(directory)).toBe(false)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await adopt(directory)).toBe(true)
    expect(await adopt(directory)).toBe(false)
  })

  it.each([
    ['garbage', (lock: string) => fs.writeFileSync(lock, 'this is no database, but something else '.repeat(30))],
    ['zeros', (lock: string) => fs.writeFileSync(lock, Buffer.alloc(5000))],
    ['the start of a database', (lock: string) => fs.writeFileSync(lock, 'SQLite format 3\0')],
    ['a part of a database', writePartOfDatabase],
    ['nothing', (lock: string) => fs.writeFileSync(lock, '')],
  ])('is granted, and exclusive, if the lock file contains %s', (_, spoil) => {
    const directory = made('directory')
    spoil(join(directory, 'lock'))
    expect(claim(directory)).toBe(true)
    expect(claim(directory)).toBe(false)
  })

  it('is not lost if the lock file is written to', () => {
    const directory = made('directory')
    expect(claim(directory)).toBe(true)
    const file = fs.openSync(join(directory, 'lock'), 'r+')
    fs.writeSync(file, 'this is no database, but something else '.repeat(30))
    expect(claim(directory)).toBe(false)
    fs.closeSync(file)
  })

  it('can be granted again if the lock file was removed', () => {
    const directory = made('directory')
    disk.claim(directory)?.release()
    fs.unlinkSync(join(directory, 'lock'))
    expect(claim(directory)).toBe(true)
  })

  it.each([
    ['a link to a file', (lock: string, target: string) => fs.symlinkSync(target, lock)],
    ['a link to nothing', (lock: string, target: string) => fs.symlinkSync(`${target}-none`, lock)],
    ['a directory', (lock: string) => fs.mkdirSync(lock)],
  ])('is not granted if %s replaces the lock file', (_, put) => {
    const directory = made('directory')
    const target = join(root, 'target')
    fs.writeFileSync(target, 'this is no database, but something else '.repeat(30))
    put(join(directory, 'lock'), target)
    expect(() => claim(directory)).toThrow(/lock is a link, has a second name, or is no file of this user/)
    expect(fs.readFileSync(target, 'utf8')).toMatch(/^this is no database/)
    expect(fs.existsSync(`${target}-none`)).toBe(false)
  })

  it('leaves nothing but an empty file', async () => {
    const directory = made('directory')
    expect(claim(directory)).toBe(true)
    expect(await disk.list(directory, all)).toEqual([{ name: 'lock', isDirectory: false, bytes: 0 }])
  })
})

// Node 22 calls SQLite experimental.
it.runIf(Number.parseInt(process.versions.node, 10) >= 24)(
  'loads its module without a warning of the runtime',
  async () => {
    const source = `const { nodeDisk } = await import(${JSON.stringify(diskModule)})
    nodeDisk.claim(${JSON.stringify(root)})?.release()`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    })
    let heard = ''
    child.stderr.on('data', data => {
      heard += data
    })
    await once(child, 'close')
    expect(heard).toBe('')
  },
)
