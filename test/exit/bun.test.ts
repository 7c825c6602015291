/** Bun has the events of Node that deliver pending events. */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { type Ended, runProgram } from '../support/run-script.ts'
import { canRun } from '../support/run-sync.ts'
import { core, environmentFor, upTo } from './running.ts'

const isBunInstalled = canRun('bun')
if (!isBunInstalled) console.warn('skipped: no bun here; install it with: npm install --global bun')

describe.skipIf(!isBunInstalled)('a process of Bun delivers', () => {
  it.each([
    ['its natural end', '', 0],
    ['process.exit()', 'process.exit(3)', 3],
    ['an uncaught error in the same tick', `throw new Error('boom')`, 1],
    ['an unhandled rejection in the same tick', `void Promise.reject(new Error('boom')); await 1`, 1],
    ['an uncaught error of a timer', `setTimeout(() => { throw new Error('boom') })`, 1],
    ['SIGTERM', `process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 10_000)`, 'SIGTERM'],
  ])('by %s', async (_, end, ending) => {
    await using emulator = await startEmulator()
    const { code, signal, stderr } = await runBun(`${core()} log(0, 7); ${end}`, emulator)
    expect([code ?? signal, numbersIn(emulator), stderr.includes('logferry:')]).toEqual([ending, upTo(7), false])
  })

  it('from the spool what a killed one has left', async () => {
    await using emulator = await startEmulator()
    await using folder = await mkdtempDisposable(join(tmpdir(), 'logferry-bun-'))
    const options = `durability: 'disk', spool: { directory: ${JSON.stringify(folder.path)} }`
    const killed = await runBun(`${core(options)} log(0, 7); process.kill(process.pid, 'SIGKILL')`, emulator)
    expect([killed.signal, numbersIn(emulator)]).toEqual(['SIGKILL', []])
    const next = await runBun(`${core(options)} await shipper.flush()`, emulator)
    expect([next.code, numbersIn(emulator), next.stderr]).toEqual([0, upTo(7), ''])
  })
})

function runBun(source: string, emulator: Emulator): Promise<Ended> {
  const program = source.replace(`'logferry'`, `'${pathToFileURL('dist/index.js')}'`)
  return runProgram('bun', ['--eval', program], { HOME: process.env.HOME ?? '', ...environmentFor(emulator) })
}
