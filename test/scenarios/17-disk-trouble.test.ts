import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { core, environmentFor, inOrder, upTo } from '../exit/running.ts'
import { numbersIn } from '../support/emulated.ts'
import { mounted } from '../support/mounted.ts'
import { runProgram, runScript } from '../support/run-script.ts'
import { leaveInSpool } from '../support/spool-left.ts'

const temporary = () => mkdtempDisposable(join(tmpdir(), 'logferry-17-'))

describe.concurrent('scenario 17: a spool on a disk that accepts no data', () => {
  it('because a file is in the way: the process uses memory, warns once, and delivers', async () => {
    await using directory = await temporary()
    await using emulator = await startEmulator()
    writeFileSync(join(directory.path, 'file'), '')
    const spool = JSON.stringify(join(directory.path, 'file', 'spool'))
    const source = `${core(`spool: { directory: ${spool} }, durability: 'disk'`)} log(0, 5000); process.exit()`
    const { code, stderr } = await runScript(source, environmentFor(emulator))
    expect(code).toBe(0)
    expect(stderr.match(/cannot be used \(ENOTDIR\)\. Events are kept in memory only/g)).toHaveLength(1)
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(5000))
  })

  it.skipIf(process.platform === 'win32')('because files may not grow: the warning names that limit', async () => {
    await using directory = await temporary()
    await using emulator = await startEmulator()
    const spool = JSON.stringify(join(directory.path, 'spool'))
    const source = `${core(`spool: { directory: ${spool} }, durability: 'disk'`)} log(0, 5000); process.exit()`
    const limited = ['-c', 'ulimit -f 8; exec "$@"', 'sh', process.execPath, '--input-type=module', '--eval', source]
    const { code, stderr } = await runProgram('sh', limited, { ...environmentFor(emulator), NODE_COMPILE_CACHE: '' })
    expect([code, stderr]).toEqual([0, expect.stringMatching(/cannot be used \(EFBIG\)\..* \(ulimit -f\)\./)])
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(5000))
  })

  it('because Node has no SQLite for its locks: the warning says so, and nothing of the disk', async () => {
    await using directory = await temporary()
    await using emulator = await startEmulator()
    const spool = JSON.stringify(join(directory.path, 'spool'))
    const source = `${core(`spool: { directory: ${spool} }, durability: 'disk'`)} log(0, 100); process.exit()`
    const args = ['--no-experimental-sqlite', '--input-type=module', '--eval', source]
    const { code, stderr } = await runProgram(process.execPath, args, environmentFor(emulator))
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/cannot be used .* Run Node without --no-experimental-sqlite/),
    ])
    expect(stderr).not.toMatch(/Check the disk/)
    expect(readdirSync(join(directory.path, 'spool'))).toEqual([])
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(100))
  })

  it('while the service is unavailable: the loss at the end is counted and reported', async () => {
    await using directory = await temporary()
    writeFileSync(join(directory.path, 'file'), '')
    await using emulator = await startEmulator()
    const { code, stderr } = await leaveInSpool(join(directory.path, 'file', 'spool'), 1000, emulator)
    expect(code).toBe(0)
    expect(stderr).toMatch(/1000 events could not be delivered .*\. They are dropped\./)
  })

  it('because it is full: the next process delivers the spooled events, and the rest counts as lost', async ({
    skip,
  }) => {
    await using directory = await temporary()
    const path = join(directory.path, 'full')
    mkdirSync(path)
    using disk = mounted(path, 'size=200k,mode=0700')
    if (disk === undefined) return skip('no file system can be mounted')
    await using emulator = await startEmulator()
    const { code, stderr } = await leaveInSpool(path, 5000, emulator)
    expect(code).toBe(0)
    const kept = Number(/(\d+) events? could not be delivered .*\. Delivery continues from the spool/.exec(stderr)?.[1])
    const lost = Number(/(\d+) events? could not be delivered .*\. (?:It is|They are) dropped/.exec(stderr)?.[1])
    expect(kept).toBeGreaterThan(100)
    expect(kept + lost).toBe(5000)
    const spool = `spool: { directory: ${JSON.stringify(path)} }`
    const next = await runScript(`${core(spool)} await shipper.close()`, environmentFor(emulator))
    expect(next.code).toBe(0)
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(kept))
  })
})
