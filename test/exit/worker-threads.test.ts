import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { runScript } from '../support/run-script.ts'
import { core, environmentFor, inOrder, run, upTo } from './running.ts'

/** A program that runs `source` in a thread, and `atEnd` in the main thread when the thread has ended. */
const inThread = (source: string, atEnd = '', whileRunning = '') => `
  import { Worker } from 'node:worker_threads'
  const source = ${JSON.stringify(source)}
  const thread = new Worker(source, { eval: true })
  thread.on('error', () => {}).on('exit', code => { ${atEnd || 'process.exitCode = code'} })
  ${whileRunning}
`

describe.concurrent('a thread that ends in the tick of 1,000 log calls', () => {
  it.each([
    ['by itself', '', 0],
    ['by process.exit() in the thread', 'process.exit(3)', 3],
    ['by an uncaught exception', `throw new Error('boom')`, 1],
    ['by an unhandled rejection', `void Promise.reject(new Error('boom')); await 1`, 1],
  ])('delivers them all, in order, while the main thread goes on (%s)', async (_, end, exitCode) => {
    const { code, stderr, numbers } = await run(inThread(`${core()} log(0, 1000); ${end}`))
    expect([code, stderr]).toEqual([exitCode, ''])
    expect(numbers).toEqual(upTo(1000))
  })

  it('delivers them when it closes its port', async () => {
    const listening = `import { parentPort } from 'node:worker_threads'; ${core()}
      parentPort.on('message', () => { log(0, 1000); parentPort.close() })`
    expect((await run(inThread(listening, '', 'thread.postMessage(1)'))).numbers).toEqual(upTo(1000))
  })
})

describe.concurrent('a thread that is ended at once', () => {
  it.each([
    ['terminate()', 'thread.terminate()'],
    ['process.exit() in the main thread', 'process.exit()'],
  ])("loses nothing with durability: 'disk' (%s)", async (_, end) => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-thread-'))
    await using emulator = await startEmulator()
    const options = `durability: 'disk', spool: { directory: ${JSON.stringify(directory.path)} }`
    const thread = `import { parentPort } from 'node:worker_threads'; ${core(options)}
      log(0, 1000); parentPort.postMessage('logged'); setInterval(() => {}, 1000)`
    await runScript(inThread(thread, '0', `thread.on('message', () => ${end})`), environmentFor(emulator))
    await runScript(`${core(options)} await shipper.close()`, environmentFor(emulator))
    // The events of a request that was under way may arrive twice.
    expect(inOrder([...new Set(numbersIn(emulator))])).toEqual(upTo(1000))
  })

  it("loses nothing with durability: 'disk' if the main thread ships to the same spool, and goes on", async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-thread-'))
    const options = `durability: 'disk', spool: { directory: ${JSON.stringify(directory.path)} }`
    const thread = `import { parentPort } from 'node:worker_threads'; ${core(options)}
      log(0, 1000); parentPort.postMessage('logged'); setInterval(() => {}, 1000)`
    const { stderr, numbers } = await run(`
      ${core(options)} log(1000); await shipper.flush()
      ${inThread(thread, `createShipper({ ${options} }).close()`, `thread.on('message', () => thread.terminate())`)}
    `)
    expect([stderr, inOrder([...new Set(numbers)])]).toEqual(['', upTo(1001)])
  })
})
