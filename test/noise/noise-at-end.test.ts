/** Summaries and held events at the end of the process, and at the end of the stack. */
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { environmentFor } from '../exit/running.ts'
import { inLastFrameWith } from '../support/in-last-frame.ts'
import { runScript } from '../support/run-script.ts'
import { startShipping } from '../support/shipping.ts'
import { startNode } from '../support/start-node.ts'

const logger = (options: string) => `
  import { createShipper } from 'logferry'
  const shipper = createShipper({ maxBatchAgeMs: 60_000, exitTimeoutMs: 20_000, ${options} })
  const log = (level, message, trace_id) => shipper.ship({ level, message, trace_id })
`
const collapsing = `
  ${logger('collapse: { windowMs: 3_600_000 }')}
  for (let n = 0; n < 100; n++) log('error', 'message ' + (n % 2))
`
const holding = `
  ${logger('hold: {}')}
  process.on('exit', () => console.log(JSON.stringify(shipper.stats())))
  for (let n = 0; n < 10; n++) log('debug', 'step ' + n, n % 2 === 0 ? 'a' : 'b')
  log('error', 'failed', 'a')
`

const ends: readonly (readonly [name: string, end: string, code: number])[] = [
  ['by itself', '', 0],
  ['by itself, after a flush of the first events', 'await shipper.flush(); more()', 0],
  ['by process.exit()', 'process.exit()', 0],
  ['by process.exit() after a flush', 'await shipper.flush(); more(); process.exit()', 0],
  ['by an uncaught error', `throw new Error('boom')`, 1],
  ['by close()', 'await shipper.close()', 0],
  ['by log calls in a handler of exit', `process.on('exit', more); process.exit()`, 0],
]

describe.concurrent('summaries of repeated events', () => {
  it.each(ends)('are delivered when the process ends %s', async (_, end, code) => {
    await using emulator = await startEmulator()
    const more = `const more = () => { for (let n = 0; n < 10; n++) log('error', 'message ' + (n % 2)) }`
    const ended = await runScript(`${collapsing}; ${more}; ${end}`, environmentFor(emulator))
    expect(ended.code).toBe(code)
    expect(ended.stderr).not.toContain('logferry:')
    const events = emulator.events('d')
    const counts = events.map(({ logferry }) => (logferry as Repeated)?.repeated.count ?? 1)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(end.includes('more') ? 110 : 100)
    expect(events.length).toBeLessThan(20)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('are delivered when a signal ends the process: %s', async signal => {
    await using emulator = await startEmulator()
    const source = `${collapsing}; console.log('ready'); setInterval(() => {}, 1000)`
    await using child = startNode(['--input-type=module', '--eval', source], environmentFor(emulator))
    await child.until(/ready/)
    await child.end(signal)
    const counts = emulator.events('d').map(({ logferry }) => (logferry as Repeated)?.repeated.count)
    expect(counts).toEqual([undefined, undefined, 49, 49])
  })
})

describe.concurrent('held events', () => {
  it.each([
    ['by itself', ''],
    ['by itself, after a flush', 'await shipper.flush()'],
    ['by process.exit()', 'process.exit()'],
    ['by process.exit() after a flush', 'await shipper.flush(); process.exit()'],
    ['by close()', 'await shipper.close()'],
  ])('that no error has released are dropped and counted when the process ends %s', async (_, end) => {
    await using emulator = await startEmulator()
    const { code, stdout, stderr } = await runScript(`${holding}; ${end}`, environmentFor(emulator))
    expect([code, stderr]).toEqual([0, ''])
    const messages = emulator.events('d').map(({ message }) => message)
    expect(messages).toEqual(['step 0', 'step 2', 'step 4', 'step 6', 'step 8', 'failed'])
    expect(JSON.parse(stdout)).toMatchObject({
      accepted: 11,
      delivered: 6,
      dropped: 5,
      pending: 0,
      held: 0,
      drops: { untriggered: { debug: 5 } },
    })
  })

  it('do not hold up the end of a process that has nothing else to deliver', async () => {
    const url = 'http://127.0.0.1:9' // a port without a server
    const source = `${logger('hold: {}')}; log('info', 'step', 'a')`
    for (const end of ['', 'process.exit()']) {
      const { code, stderr, ms } = await runScript(`${source}; ${end}`, environmentFor({ url }))
      expect([code, stderr]).toEqual([0, ''])
      expect(ms).toBeLessThan(10_000)
    }
  })

  it('are delivered, or counted as dropped, if a listener ends the process while they are released', async () => {
    await using emulator = await startEmulator()
    const source = `
      ${logger('hold: {}, maxBatchBytes: 16_384, maxBufferedBytes: 1_048_576')}
      process.on('exit', () => console.log(JSON.stringify(shipper.stats())))
      let drops = 0
      shipper.on('dropped', () => { if (drops++ === 0) process.exit() })
      for (let n = 0; n < 40; n++) log('info', 'x'.repeat(1000), 'a')
      while (shipper.stats().bufferedBytes < 1_000_000) log('error', 'x'.repeat(1000))
      log('error', 'failed', 'a')
    `
    const { stdout } = await runScript(source, environmentFor(emulator))
    const { accepted, delivered, dropped, pending } = JSON.parse(stdout)
    expect(dropped).toBeGreaterThan(0)
    expect({ delivered, pending }).toEqual({ delivered: accepted - dropped, pending: 0 })
    expect(emulator.events('d')).toHaveLength(delivered)
  })

  it('are delivered if the error comes with the end of the process', async () => {
    await using emulator = await startEmulator()
    const fatal = `process.on('uncaughtException', () => { log('fatal', 'uncaught', 'b'); process.exit(1) })`
    const source = `${holding}; ${fatal}; setImmediate(() => { throw new Error('boom') })`
    expect((await runScript(source, environmentFor(emulator))).code).toBe(1)
    const messages = emulator.events('d').map(({ message }) => message)
    expect(messages.slice(-6)).toEqual(['step 1', 'step 3', 'step 5', 'step 7', 'step 9', 'uncaught'])
  })
})

describe('log calls where the stack ends', () => {
  it('are held, collapsed, shipped or dropped, and the books are right', { timeout: 60_000 }, async () => {
    await using emulator = await startEmulator()
    const source = `
      ${logger('collapse: { windowMs: 100 }, hold: { maxEvents: 50, maxAgeMs: 200 }')}
      const problems = []
      const thrown = []
      let left = 0
      let calls = 0
      let told = 0
      shipper.on('dropped', ({ count }) => (told += count))
      const levels = ['debug', 'info', 'warn', 'error', 'debug', 'info']
      function call(n) {
        const trace_id = n % 3 === 0 ? undefined : 'trace ' + (n % 7)
        shipper.ship({ level: levels[n % 6], message: 'message ' + (n % 11), trace_id, n })
      }
      function recur() {
        try {
          recur()
        } catch {}
        if (left <= 0) return
        left--
        try {
          call(calls++)
        } catch (error) {
          if (thrown.length < 1e6) thrown[thrown.length] = error
        }
      }
      function check(when) {
        const { accepted, delivered, dropped, pending, held, bufferedBytes } = shipper.stats()
        if (accepted !== delivered + dropped + pending || pending < held || held < 0 || bufferedBytes < 0)
          problems.push([when, shipper.stats()])
      }
      for (let n = 0; n < 24; n++) {
        left = [200, 400, 800][n % 3]
        recur()
        check('after an overflow')
        if (n % 3 === 0) await new Promise(resolve => setTimeout(resolve, 40))
        if (n % 7 === 0) await shipper.flush()
        check('later')
      }
      for (let n = 0; n < 100; n++) call(n)
      await shipper.close()
      await shipper.close()
      // The first line is the message. The second line names the function whose frame had no room.
      const isWithin = ([, , ...callers]) => callers.some(line => line.includes('/dist/'))
      problems.push(...thrown.map(({ stack }) => stack).filter(stack => isWithin(stack.split('\\n'))))
      console.log(JSON.stringify({ problems: problems.slice(0, 3), calls, told, stats: shipper.stats() }))
    `
    const { stdout } = await runScript(source, { ...environmentFor(emulator), NODE_NO_WARNINGS: '1' })
    const { problems, calls, told, stats } = JSON.parse(stdout)
    expect(problems).toEqual([])
    expect(calls).toBeGreaterThan(5000)
    expect(stats).toMatchObject({ pending: 0, held: 0, bufferedBytes: 0 })
    expect(told).toBe(stats.dropped)
    expect(Object.keys(stats.drops)).toEqual(expect.arrayContaining(['collapsed', 'untriggered', 'error']))
    expect(emulator.events('d')).toHaveLength(stats.delivered)
  })
})

it.each(['flush', 'close'] as const)(
  '%s() where the stack ends is complete only if summaries are shipped',
  async name => {
    await using shipping = await startShipping()
    for (let bytes = 60_000; bytes < 200_000; bytes += 4000) {
      const shipper = shipping.ship({ collapse: {} })
      for (let n = 0; n < 3; n++) shipper.ship({ message: 'm' })
      let ended: Promise<unknown> = Promise.resolve()
      inLastFrameWith(bytes, () => {
        ended = shipper[name]().catch(error => error)
      })
      const result = await ended
      if (!(result instanceof RangeError)) expect(result).toEqual({ complete: true, pending: 0 })
      await shipper.close()
    }
  },
)

interface Repeated {
  readonly repeated: { readonly count: number }
}
