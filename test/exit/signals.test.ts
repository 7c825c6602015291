/** Pending events when a signal ends the process, or would end it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { startRawServer } from '../support/raw-server.ts'
import { surroundings } from '../support/surroundings.ts'
import { environmentFor, inOrder, core as plainCore, winston as plainWinston, run, upTo } from './running.ts'

/** Nothing is sent before the signal, however late the signal comes. */
const core = (options = '') => plainCore(`maxBatchAgeMs: 60_000, ${options}`)
const winston = (options = '') => plainWinston(`maxBatchAgeMs: 60_000, ${options}`)

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
const isWindows = process.platform === 'win32'

interface Stopped {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

interface Target extends Pick<Emulator, 'url'> {
  readonly token?: string
}

/** Runs a program that stays alive, sends signals when it is ready, and waits for its end. */
function stop(program: string, to: Target, ...sent: readonly NodeJS.Signals[]): Promise<Stopped> {
  const source = `${program}; console.log('ready'); setInterval(() => {}, 1000)`
  return stopCommand([process.execPath, '--input-type=module', '--eval', source], to, pid => {
    for (const signal of sent) process.kill(pid, signal)
  })
}

async function stopCommand(command: readonly string[], to: Target, send: (pid: number) => void): Promise<Stopped> {
  const [file, ...args] = command as [string, ...string[]]
  const env = { ...surroundings(), HOME: process.env.HOME, ...environmentFor(to) }
  const child = spawn(file, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const [closed, stdout, stderr] = [once(child, 'close'), text(child.stdout), text(child.stderr)]
  let printed = ''
  child.stdout.on('data', chunk => {
    const wasReady = printed.includes('ready')
    printed += chunk
    if (!wasReady && printed.includes('ready')) send(child.pid as number)
  })
  const [code, signal] = await closed
  return { code, signal, stdout: (await stdout).replace(/ready\n/, ''), stderr: await stderr }
}

const loadEveryVersion = `
  import { onExit } from 'signal-exit'
  import onExitOfVersion3 from 'signal-exit-3'
`

describe.concurrent('a signal', () => {
  it.each(signals)('ends the process with the same status, after delivery (%s)', async name => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 100
    const stopped = await stop(`${winston()} log(0, 1000)`, emulator, name)
    expect(stopped).toEqual({ code: null, signal: name, stdout: '', stderr: '' })
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(1000))
  })

  it('does not cut delivery short when it comes again', async () => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 300
    const source = `${core()} log(0, 1000); setTimeout(() => {}, 5)`
    const stopped = await stop(source, emulator, 'SIGINT', 'SIGINT', 'SIGTERM')
    expect([stopped.code, stopped.stderr, numbersIn(emulator).length]).toEqual([null, '', 1000])
  })

  it('waits for exitTimeoutMs at most, and reports the loss', async () => {
    const server = await startRawServer(() => {})
    const { signal, stderr } = await stop(`${core('exitTimeoutMs: 100')} log(0, 7)`, server, 'SIGTERM')
    await server.close()
    expect(signal).toBe('SIGTERM')
    expect(stderr).toContain('7 events could not be delivered within 100 ms')
  })

  it('lets every shipper deliver except those with exitOnSignals: false', async () => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = request => (request.dataset === 'd' ? 300 : 0)
    const other = (dataset: string, options = '') =>
      `createShipper({ dataset: '${dataset}', maxBatchAgeMs: 60_000, ${options} }).ship({ n: 0 })`
    const source = `${core()} log(0, 7); ${other('e')}; ${other('f', 'exitOnSignals: false')}`
    expect(await stop(source, emulator, 'SIGTERM')).toMatchObject({ signal: 'SIGTERM', stderr: '' })
    expect(['d', 'e', 'f'].map(name => emulator.eventCount(name))).toEqual([7, 1, 0])
  })

  it('finds no listener of logferry if exitOnSignals or exitTimeoutMs turns it off, or if nothing is pending', async () => {
    const count = `console.log(process.listenerCount('SIGTERM') + process.listenerCount('SIGINT') + process.listenerCount('SIGHUP'))`
    const { stdout } = await run(`
      import { createShipper } from 'logferry'
      createShipper({ exitOnSignals: false }).ship({ n: 0 })
      createShipper({ exitTimeoutMs: 0 }).ship({ n: 1 })
      const shipper = createShipper()
      ${count}; shipper.ship({ n: 2 }); ${count}; await shipper.flush(); ${count}; shipper.ship({ n: 3 }); ${count}
      await shipper.close(); ${count}
    `)
    expect(stdout).toBe('0\n3\n0\n3\n0\n')
  })

  it('does not wait for events that are held, and waits for what is logged besides', async () => {
    await using emulator = await startEmulator()
    const count = `console.log(process.listenerCount('SIGTERM'))`
    const source = `
      ${core("hold: { below: 'info', trigger: 'error' }")}
      shipper.ship({ level: 'debug', trace_id: '1' }); ${count}
      log(0); ${count}; await shipper.flush(); ${count}
      console.log('ready'); for (;;);`
    expect(await stop(source, emulator, 'SIGTERM')).toMatchObject({ signal: 'SIGTERM', stdout: '0\n1\n0\n' })
    expect(numbersIn(emulator)).toEqual([0])
  })

  it('reaches a process whose event loop is blocked, if nothing is pending', async () => {
    await using emulator = await startEmulator()
    const source = `${core()} log(0); await shipper.flush(); console.log('ready'); for (;;);`
    expect(await stop(source, emulator, 'SIGINT')).toMatchObject({ signal: 'SIGINT' })
  })

  it('also ends a process in which a worker thread logs', async () => {
    await using emulator = await startEmulator()
    const source = `
      import { once } from 'node:events'
      import { Worker } from 'node:worker_threads'
      ${core()}
      const thread = 'import("logferry").then(({ createShipper }) => { createShipper().ship({ n: 0 }); setInterval(() => {}, 1000) })'
      await once(new Worker(thread, { eval: true }), 'online')
      log(0, 10)`
    expect(await stop(source, emulator, 'SIGTERM')).toMatchObject({ signal: 'SIGTERM', stderr: '' })
    expect(numbersIn(emulator).length).toBeGreaterThanOrEqual(10)
  })
})

describe.concurrent('a signal that the application handles', () => {
  const endSoon = `setTimeout(() => process.exit(shipper.stats().delivered), 1000)`

  it.each([
    ['before', `process.on('SIGTERM', () => ${endSoon}); ${core()} log(0, 7)`],
    ['once, and before', `process.once('SIGTERM', () => ${endSoon}); ${core()} log(0, 7)`],
    ['later', `${core()} log(0, 7); process.on('SIGTERM', () => ${endSoon})`],
    ['once, and later', `${core()} log(0, 7); process.once('SIGTERM', () => ${endSoon})`],
    [
      'beside signal-exit',
      `${loadEveryVersion} onExit(() => {}); ${core()} log(0, 7); process.once('SIGTERM', () => ${endSoon})`,
    ],
  ])('by a handler added %s, sends what is pending and does not end the process', async (_, source) => {
    await using emulator = await startEmulator()
    expect(await stop(source, emulator, 'SIGTERM')).toEqual({ code: 7, signal: null, stdout: '', stderr: '' })
  })

  it('ends the process again after the handler is removed', async () => {
    await using emulator = await startEmulator()
    const source = `
      ${core()} log(0, 7)
      const handler = () => {}
      process.on('SIGTERM', handler)
      process.off('SIGTERM', handler)`
    expect(await stop(source, emulator, 'SIGTERM')).toMatchObject({ code: null, signal: 'SIGTERM' })
    expect(numbersIn(emulator)).toEqual(upTo(7))
  })

  it('loses no event if the handler raises the signal again when it is done, as NestJS does', async () => {
    await using emulator = await startEmulator()
    const source = `
      ${winston()}
      async function shutDown(signal) {
        log(7)
        while (shipper.stats().delivered < 8) await new Promise(resolve => setTimeout(resolve, 10))
        log(8, 14)
        process.removeListener(signal, shutDown)
        process.kill(process.pid, signal)
      }
      process.on('SIGTERM', shutDown)
      log(0, 7)`
    expect(await stop(source, emulator, 'SIGTERM')).toEqual({ code: null, signal: 'SIGTERM', stdout: '', stderr: '' })
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(14))
  })

  it('delivers every event once if the handler ends the process within milliseconds', async () => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 100 // events are stored while the answer is still delayed
    const source = `
      ${winston()}
      async function shutDown(signal) {
        await new Promise(resolve => setTimeout(resolve, 10))
        process.removeListener(signal, shutDown)
        process.kill(process.pid, signal)
      }
      process.on('SIGTERM', shutDown)
      log(0, 7)`
    expect(await stop(source, emulator, 'SIGTERM')).toEqual({ code: null, signal: 'SIGTERM', stdout: '', stderr: '' })
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(7))
  })

  it('loses no event if the handler closes a server and exits, as Next.js does', async () => {
    await using emulator = await startEmulator()
    const source = `
      import { createServer } from 'node:http'
      ${winston()}
      const server = createServer().listen(0, '127.0.0.1')
      process.on('SIGTERM', () => { log(7); server.close(() => { log(8); process.exit(143) }) })
      log(0, 7)`
    expect(await stop(source, emulator, 'SIGTERM')).toEqual({ code: 143, signal: null, stdout: '', stderr: '' })
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(9))
  })
})

describe.concurrent('a signal to', () => {
  it('a Fastify application without a handler loses no log of its requests', async () => {
    await using emulator = await startEmulator()
    const source = `
      import Fastify from 'fastify'
      ${winston()}
      const app = Fastify()
      app.get('/', async request => { log(Number(request.query.n)); return 'ok' })
      const url = await app.listen({ port: 0, host: '127.0.0.1' })
      for (let n = 0; n < 7; n++) await fetch(url + '/?n=' + n)`
    expect(await stop(source, emulator, 'SIGTERM')).toEqual({ code: null, signal: 'SIGTERM', stdout: '', stderr: '' })
    expect(numbersIn(emulator)).toEqual(upTo(7))
  })

  it.each([
    ['loaded before', `onExit(said(4)); onExitOfVersion3(said(3)); ${core()} log(0, 7)`],
    ['loaded after', `${core()} log(0, 7); onExit(said(4)); onExitOfVersion3(said(3))`],
    ['of one version', `${core()} log(0, 7); onExit(said(4))`],
  ])('a process that uses signal-exit, %s, ends after every listener has run', async (_, source) => {
    await using emulator = await startEmulator()
    const said = `const said = version => (code, signal) => console.log(version, code, signal)`
    const stopped = await stop(`${loadEveryVersion} ${said}; ${source}`, emulator, 'SIGINT')
    expect(stopped).toMatchObject({ code: null, signal: 'SIGINT', stderr: '' })
    expect(stopped.stdout).toContain('4 null SIGINT\n')
    expect(numbersIn(emulator)).toEqual(upTo(7))
  })

  it.each([
    ['loaded before', `onExit(() => log(7, 9)); onExitOfVersion3(() => log(9)); ${core()} log(0, 7)`],
    ['loaded after', `${core()} log(0, 7); onExit(() => log(7, 9)); onExitOfVersion3(() => log(9))`],
    ['of one version', `${core()} log(0, 7); onExit(() => log(7, 10))`],
  ])('a process that logs in a listener of signal-exit, %s, loses no event', async (_, source) => {
    await using emulator = await startEmulator()
    const stopped = await stop(`${loadEveryVersion} ${source}`, emulator, 'SIGTERM')
    expect(stopped).toEqual({ code: null, signal: 'SIGTERM', stdout: '', stderr: '' })
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(10))
  })

  it('a process with two copies of this package lets both deliver, and ends', async () => {
    await using copy = await mkdtempDisposable(join(tmpdir(), 'logferry-copy-'))
    cpSync('dist', join(copy.path, 'dist'), { recursive: true })
    writeFileSync(join(copy.path, 'package.json'), '{ "type": "module" }')
    await using emulator = await startEmulator()
    const source = `
      import { createShipper as createOther } from ${JSON.stringify(pathToFileURL(join(copy.path, 'dist/index.js')))}
      ${core()} log(0, 7); createOther({ dataset: 'e' }).ship({ n: 0 })`
    expect(await stop(source, emulator, 'SIGTERM')).toEqual({ code: null, signal: 'SIGTERM', stdout: '', stderr: '' })
    expect(['d', 'e'].map(name => emulator.eventCount(name))).toEqual([7, 1])
  })

  it.skipIf(isWindows)('the process group of npm and its script, sent twice as by Ctrl+C, loses no event', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'logferry-npm-'))
    const program = `${core()} log(0, 1000); console.log('ready'); setInterval(() => {}, 1000)`
    const scripts = { start: `${JSON.stringify(process.execPath)} program.mjs` }
    writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ scripts }))
    writeFileSync(
      join(folder.path, 'program.mjs'),
      program.replace(`'logferry'`, `'${pathToFileURL('dist/index.js')}'`),
    )
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 100
    await stopCommand(['npm', '--prefix', folder.path, 'start'], emulator, pid => {
      process.kill(-pid, 'SIGINT')
      setTimeout(() => process.kill(-pid, 'SIGINT'), 30)
    })
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(1000))
  })

  it.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
    'the first process of a container makes it deliver; the process goes on',
    async () => {
      await using emulator = await startEmulator()
      const source = `
        ${core()} log(0, 7)
        setTimeout(() => { log(7, 14) }, 200)
        setTimeout(() => { log(14, 21); process.exit(5) }, 1500)
        console.log('ready'); setInterval(() => {}, 1000)`
      const command = ['unshare', '--pid', '--fork', process.execPath, '--input-type=module', '--eval', source]
      const { code, stderr } = await stopCommand(command, emulator, pid => process.kill(-pid, 'SIGTERM'))
      expect([code, stderr]).toEqual([5, ''])
      expect(inOrder(numbersIn(emulator))).toEqual(upTo(21))
    },
  )
})
