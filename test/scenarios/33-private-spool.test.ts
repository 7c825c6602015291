import { chownSync, cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { core, environmentFor, inOrder, upTo } from '../exit/running.ts'
import { numbersIn } from '../support/emulated.ts'
import { runScript } from '../support/run-script.ts'
import { leaveInSpool } from '../support/spool-left.ts'

const temporary = () => mkdtempDisposable(join(tmpdir(), 'logferry-33-'))
const modeOf = (path: string) => (lstatSync(path).mode & 0o777).toString(8)

async function deliverFrom(directory: string, emulator: Emulator): Promise<number[]> {
  emulator.clear()
  const spool = `spool: { directory: ${JSON.stringify(directory)} }`
  await runScript(`${core(spool)} await shipper.close()`, environmentFor(emulator))
  return inOrder(numbersIn(emulator))
}

describe.concurrent('scenario 33: the directory of a spool', () => {
  it.skipIf(process.platform === 'win32')(
    'is accessible to its owner only, whatever the umask, with all its contents',
    async () => {
      await using directory = await temporary()
      const spool = join(directory.path, 'spool')
      await using emulator = await startEmulator()
      await leaveInSpool(spool, 100, emulator, 'process.umask(0)')
      expect(modeOf(spool)).toBe('700')
      const entries = readdirSync(spool, { recursive: true, withFileTypes: true })
      expect(entries.length).toBeGreaterThanOrEqual(3) // a directory, its lock, a segment
      for (const entry of entries) {
        expect(modeOf(join(entry.parentPath, entry.name))).toBe(entry.isDirectory() ? '700' : '600')
      }
    },
  )

  it('may contain links: they are not followed, and their targets stay', async () => {
    await using directory = await temporary()
    const spool = join(directory.path, 'spool')
    const elsewhere = join(directory.path, 'elsewhere')
    await using emulator = await startEmulator()
    await leaveInSpool(elsewhere, 100, emulator)
    const [name] = readdirSync(elsewhere) as [string]
    mkdirSync(spool)
    symlinkSync(join(elsewhere, name), join(spool, name))
    expect(await deliverFrom(spool, emulator)).toEqual([])
    expect(readdirSync(spool)).toEqual([name])
    expect(await deliverFrom(elsewhere, emulator)).toEqual(upTo(100))
  })

  it('may contain files of another user: they are left alone', async () => {
    await using directory = await temporary()
    const spool = join(directory.path, 'spool')
    await using emulator = await startEmulator()
    await leaveInSpool(spool, 100, emulator)
    const [name] = readdirSync(spool) as [string]
    writeFileSync(join(spool, 'notes.txt'), 'mine')
    writeFileSync(join(spool, name, 'notes.txt'), 'mine, too')
    expect(await deliverFrom(spool, emulator)).toEqual(upTo(100))
    expect(readFileSync(join(spool, 'notes.txt'), 'utf8')).toBe('mine')
    expect(readFileSync(join(spool, name, 'notes.txt'), 'utf8')).toBe('mine, too')
  })

  it.runIf(process.getuid?.() === 0)('may contain segments of another user: they are not sent', async () => {
    await using directory = await temporary()
    const spool = join(directory.path, 'spool')
    const theirs = join(directory.path, 'theirs')
    await using emulator = await startEmulator()
    await leaveInSpool(theirs, 100, emulator)
    cpSync(theirs, spool, { recursive: true })
    const [name] = readdirSync(spool) as [string]
    chownSync(join(spool, name), 12_345, 12_345)
    expect(await deliverFrom(spool, emulator)).toEqual([])
    expect(readdirSync(spool)).toEqual([name])
  })
})
