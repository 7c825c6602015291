/** Deno ends without Node's events that deliver pending events. */
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { runProgram } from '../support/run-script.ts'
import { canRun } from '../support/run-sync.ts'
import { core, environmentFor, run, upTo } from './running.ts'

const isDenoInstalled = canRun('deno')
if (!isDenoInstalled) console.warn('skipped: no deno here; install it with: npm install --global deno')

describe.skipIf(!isDenoInstalled)('a process of Deno delivers', () => {
  it.each([
    ['its natural end', '', 0],
    ['process.exit()', 'process.exit(3)', 3],
    ['Deno.exit()', 'Deno.exit(4)', 4],
    ['an uncaught error in the same tick', `throw new Error('boom')`, 1],
    ['an unhandled rejection in the same tick', `void Promise.reject(new Error('boom')); await 1`, 1],
    ['an uncaught error of a timer', `setTimeout(() => { throw new Error('boom') })`, 1],
  ])('by %s', async (_, end, exitCode) => {
    await using emulator = await startEmulator()
    const source = `import process from 'node:process'; ${core()} log(0, 7); ${end}`
    const program = source.replace(`'logferry'`, `'${pathToFileURL('dist/index.js')}'`)
    const environment = { HOME: process.env.HOME ?? '', ...environmentFor(emulator) }
    const url = `data:text/javascript,${encodeURIComponent(program)}`
    const { code, stderr } = await runProgram('deno', ['run', '--allow-all', url], environment)
    expect([code, numbersIn(emulator), stderr.includes('logferry:')]).toEqual([exitCode, upTo(7), false])
  })
})

describe('in a runtime that identifies itself as Deno', () => {
  const deno = `
    Object.defineProperty(process.versions, 'deno', { value: '2.9.6' })
    const listeners = new Set()
    globalThis.addEventListener = (name, listener) => name === 'unload' && listeners.add(listener)
    ${core()} log(0, 7)`

  it.each([
    ['an uncaught error', `process.emit('uncaughtExceptionMonitor', new Error('boom')); process.reallyExit(1)`],
    ['Deno.exit()', `for (const listener of listeners) listener(); process.reallyExit(1)`],
  ])('events are delivered before %s ends the process without any other event', async (_, end) => {
    expect(await run(`${deno}; ${end}`)).toMatchObject({ code: 1, stderr: '', numbers: upTo(7) })
  })

  it('an uncaught error that the application handles does not end delivery', async () => {
    const handled = `process.on('uncaughtException', () => console.log(shipper.stats().requests)); throw new Error('boom')`
    expect(await run(`${deno}; ${handled}`)).toMatchObject({ code: 0, stdout: '0\n', numbers: upTo(7) })
  })
})
