import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { flushOnSignals } from '../../src/index.ts'
import { startRawServer } from '../support/raw-server.ts'
import { core, environmentFor } from './running.ts'

/** Runs a program that prints a line when it is ready, sends it signals, and waits for its end. */
async function stop(
  source: string,
  signals: readonly NodeJS.Signals[],
  to: Pick<Emulator, 'url'> & { token?: string },
) {
  const program = `import { flushOnSignals } from 'logferry'; ${source}; console.log('ready'); setInterval(() => {}, 9000)`
  const env = { PATH: process.env.PATH, ...environmentFor(to) }
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { env })
  const stderr = text(child.stderr)
  const closed = once(child, 'close')
  await once(child.stdout, 'data')
  for (const signal of signals) child.kill(signal)
  const [code, signal] = await closed
  return { code, signal, stderr: await stderr }
}

describe.concurrent('flushOnSignals', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('delivers, and the process then dies of the signal (%s)', async name => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 100
    const { signal, stderr } = await stop(`${core()} log(0, 1000); flushOnSignals(shipper)`, [name, name], emulator)
    expect([signal, stderr, emulator.eventCount('d')]).toEqual([name, '', 1000])
  })

  it('waits for timeoutMs at most, and says what is lost', async () => {
    const server = await startRawServer(() => {})
    const source = `${core()} log(0, 7); flushOnSignals(shipper, { timeoutMs: 100 })`
    const { signal, stderr } = await stop(source, ['SIGTERM'], server)
    await server.close()
    expect(signal).toBe('SIGTERM')
    expect(stderr).toContain('7 events could not be delivered')
  })

  it('raises the signal once all shippers are done', async () => {
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = request => (request.dataset === 'd' ? 300 : 0)
    const source = `${core()} log(0, 7); flushOnSignals(shipper)
      const other = createShipper({ dataset: 'e' }); other.ship({ n: 0 }); flushOnSignals(other)`
    expect(await stop(source, ['SIGTERM'], emulator)).toMatchObject({ signal: 'SIGTERM' })
    expect([emulator.eventCount('d'), emulator.eventCount('e')]).toEqual([7, 1])
  })

  it('leaves the end to the application where that listens too, and others alone', async () => {
    await using emulator = await startEmulator()
    const source = `${core()} log(0, 7); flushOnSignals(shipper, { signals: ['SIGUSR2'] })
      process.on('SIGUSR2', () => setTimeout(() => process.exit(shipper.stats().delivered), 500))`
    expect(await stop(source, ['SIGUSR2'], emulator)).toMatchObject({ code: 7 })
    expect(await stop(source, ['SIGTERM'], emulator)).toMatchObject({ signal: 'SIGTERM' })
  })

  it('is undone by what it returns', async () => {
    await using emulator = await startEmulator()
    const { signal } = await stop(`${core()} log(0, 7); flushOnSignals(shipper)()`, ['SIGTERM'], emulator)
    expect([signal, emulator.eventCount('d')]).toEqual(['SIGTERM', 0])
  })

  it.each([
    ['shipper', undefined, {}],
    ['signals', { flush() {} }, { signals: [] }],
    ['signals', { flush() {} }, { signals: ['SIGKILL'] }],
    ['signals', { flush() {} }, { signals: 'SIGTERM' }],
    ['timeoutMs', { flush() {} }, { timeoutMs: -1 }],
    ['timeoutMs', { flush() {} }, { timeoutMs: '5' }],
  ])('refuses a bad `%s`', (option, shipper, options) => {
    const call = () => flushOnSignals(shipper as never, options as never)
    expect(call).toThrow(expect.objectContaining({ code: 'LOGFERRY_INVALID_OPTION', option }))
  })
})
