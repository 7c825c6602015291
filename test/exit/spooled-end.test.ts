/** With a spool, the next process delivers the events that a process cannot deliver at its end. */
import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { numbersIn } from '../support/emulated.ts'
import { runNode, runScript } from '../support/run-script.ts'
import { core, deliverRest, environmentFor, inOrder, upTo, winston } from './running.ts'

const kept = /(\d+ events?) could not be delivered .*\. Delivery continues from the spool/

/** Runs a program while the service is down, then delivers the spooled events. */
async function endInTrouble(program: (options: string) => string, args = ['--input-type=module']) {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
  await using emulator = await startEmulator()
  const spool = `spool: { directory: ${JSON.stringify(directory.path)} }`
  emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
  const ended = await runNode([...args, '--eval', program(spool)], environmentFor(emulator))
  emulator.faults.clear()
  const delivered = await deliverRest(directory.path, emulator)
  const events = emulator.datasets().flatMap(name => emulator.events(name))
  return { ended, delivered, numbers: inOrder(events.map(({ n }) => n as number)), left: await readdir(directory.path) }
}

const program = (end: string, options = 'exitTimeoutMs: 300') => {
  return (spool: string) => `${core(`${spool}, ${options}`)} log(0, 1000); ${end}`
}

describe.concurrent('a process that ends while the service is unavailable', () => {
  it.each([
    ['by process.exit() in the tick of its log calls', program('process.exit(3)'), 3],
    ['by an uncaught exception', program(`throw new Error('boom')`), 1],
    ['by an unhandled rejection', program(`void Promise.reject(new Error('boom')); await 1`), 1],
    ['by itself', program(''), 0],
    ['by close()', program('await shipper.close({ timeoutMs: 100 })'), 0],
    [
      "by logger.end() of Winston's",
      (spool: string) => `${winston(`${spool}, flushTimeoutMs: 100`)} log(0, 1000); logger.end()`,
      0,
    ],
    [
      "by process.exit(), with durability: 'disk'",
      program('process.exit()', `exitTimeoutMs: 300, durability: 'disk'`),
      0,
    ],
  ])('%s leaves its events to the next process', async (_, source, exitCode) => {
    const { ended, delivered, numbers, left } = await endInTrouble(source)
    expect(ended.code).toBe(exitCode)
    expect(ended.stderr).toMatch(kept)
    expect(kept.exec(ended.stderr)?.[1]).toBe('1000 events')
    expect(delivered).toEqual({ complete: true, pending: 0 })
    expect(numbers).toEqual(upTo(1000))
    expect(left).toEqual([])
  })

  it('does not take its events back once logger.end() has left them to the next process', async () => {
    const { ended, numbers } = await endInTrouble(
      spool => `${winston(`${spool}, flushTimeoutMs: 100`)} log(0, 10)
        logger.on('finish', () => setTimeout(() => {}, 200)).end()
        process.on('exit', () => { const { adopted, handedOff } = shipper.stats().spool; console.log({ adopted, handedOff }) })`,
    )
    expect(ended.stdout).toBe('{ adopted: 0, handedOff: 10 }\n')
    expect(ended.stderr.match(/could not be delivered/g)).toHaveLength(1)
    expect(numbers).toEqual(upTo(10))
  })

  it('leaves its events if no worker thread may be started', async () => {
    const permissions = ['--permission', '--allow-fs-read=*', '--allow-fs-write=*']
    const { ended, numbers } = await endInTrouble(program('process.exit()'), [...permissions, '--input-type=module'])
    expect(ended.stderr).toMatch(kept)
    expect(numbers).toEqual(upTo(1000))
  })

  it.each([
    ['close()', 'await shipper.close({ timeoutMs: 0 })'],
    ['process.exit()', 'process.exit(3)'],
  ])(
    "leaves its events to the next process, although a listener for 'spooled' ends it: given up by %s",
    async (_, end) => {
      const { ended, delivered, numbers, left } = await endInTrouble(
        program(
          `shipper.on('spooled', () => process.exit(3)); ${end}`,
          `exitTimeoutMs: 300, dataset: event => 'd' + (event.n % 10)`,
        ),
      )
      expect(ended.code).toBe(3)
      expect(delivered).toEqual({ complete: true, pending: 0 })
      expect(numbers).toEqual(upTo(1000))
      expect(left).toEqual([])
    },
  )

  it('counts each event in stats(): the pending events are those left', async () => {
    const { ended } = await endInTrouble(
      program(`
        await shipper.close({ timeoutMs: 50 })
        const { accepted, delivered, dropped, pending, spool } = shipper.stats()
        console.log(JSON.stringify({ accepted, delivered, dropped, pending, left: spool.handedOff, bytes: spool.bytes }))
      `),
    )
    expect(JSON.parse(ended.stdout)).toEqual({
      accepted: 1000,
      delivered: 0,
      dropped: 0,
      pending: 1000,
      left: 1000,
      bytes: 0,
    })
  })
})

describe('a process that logs nothing, but adopts many events', () => {
  const count = 10_000

  async function endIdle(exitTimeoutMs: number, more: string) {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    await using emulator = await startEmulator()
    const spool = `spool: { directory: ${JSON.stringify(directory.path)} }`
    const logging = `${core(`${spool}, exitTimeoutMs: 0, durability: 'disk'`)}
      const text = 'x'.repeat(1000)
      for (let n = 0; n < ${count}; n++) shipper.ship({ n, text })
      process.exit()`
    await runScript(logging, environmentFor(emulator))
    const ended = await runScript(
      `${core(`${spool}, exitTimeoutMs: ${exitTimeoutMs}`)} ${more}`,
      environmentFor(emulator),
    )
    return { ...ended, numbers: inOrder(numbersIn(emulator)) }
  }
  const atFirstEnd = `process.once('beforeExit', () => console.log(shipper.stats().accepted))`

  it('is not kept alive by reading, but delivers within exitTimeoutMs', async () => {
    const { code, stdout, stderr, numbers } = await endIdle(20_000, atFirstEnd)
    expect([code, stderr]).toEqual([0, ''])
    expect(Number(stdout)).toBeLessThan(count)
    expect(numbers).toEqual(upTo(count))
  })

  it('ends at once with exitTimeoutMs: 0', async () => {
    const { code, stdout, numbers } = await endIdle(0, atFirstEnd)
    expect([code, Number(stdout) < count, numbers.length < count]).toEqual([0, true, true])
  })

  it('delivers events that an exit handler logs, while it reads', async () => {
    const { code, stderr, numbers } = await endIdle(2000, `process.on('exit', () => log(${count})); process.exit()`)
    expect([code, stderr, numbers]).toEqual([0, '', [count]])
  })
})

describe('process.exit() with more in the spool than in memory', () => {
  const count = 12_000
  const source = (options: string, end = 'process.exit()') => `${core(`maxBufferedBytes: 2 ** 23, ${options}`)}
    const text = 'x'.repeat(1000)
    for (let n = 0; n < ${count}; n++) shipper.ship({ level: 'info', n, text })
    ${end}`

  it('delivers all events if the service accepts them', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    await using emulator = await startEmulator()
    const options = `spool: { directory: ${JSON.stringify(directory.path)} }, exitTimeoutMs: 20_000`
    const ended = await runScript(source(options), environmentFor(emulator))
    expect([ended.code, ended.stderr]).toEqual([0, ''])
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(count))
    expect((await readdir(directory.path, { recursive: true })).filter(name => name.endsWith('.segment'))).toEqual([])
  })

  it("does no harm to segments being read if the application emits 'exit', and the process continues", async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    await using emulator = await startEmulator()
    const options = `spool: { directory: ${JSON.stringify(directory.path)} }, exitTimeoutMs: 20_000`
    const end = `
      await new Promise(resolve => setTimeout(resolve, 5))
      process.emit('exit', 0)
      console.log(JSON.stringify([await shipper.flush({ timeoutMs: 60_000 }), shipper.stats().drops]))`
    const ended = await runScript(source(options, end), environmentFor(emulator))
    expect([ended.code, ended.stdout]).toEqual([0, '[{"complete":true,"pending":0},{}]\n'])
    expect(new Set(numbersIn(emulator))).toEqual(new Set(upTo(count)))
  })

  it('leaves events to the next process if the time runs out, and says so', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 250
    const spool = `spool: { directory: ${JSON.stringify(directory.path)} }`
    const ended = await runScript(source(`${spool}, exitTimeoutMs: 1000`), environmentFor(emulator))
    expect(ended.stderr).toMatch(/\d+ events could not be delivered within 1000 ms\. Delivery continues from the spool/)
    emulator.faults.clear()
    await deliverRest(directory.path, emulator)
    expect(new Set(numbersIn(emulator))).toEqual(new Set(upTo(count)))
    expect(await readdir(directory.path)).toEqual([])
  })
})

describe.concurrent('scenario 5: a service that never answers', () => {
  it('delays the end until its deadline, and no event is lost', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    const spool = `spool: { directory: ${JSON.stringify(directory.path)} }`
    await using emulator = await startEmulator()
    emulator.faults.latencyMs = 60_000
    const source = `${core(`${spool}, exitTimeoutMs: 500`)} log(0, 1000); process.exit()`
    const ended = await runScript(source, environmentFor(emulator))
    emulator.faults.clear()
    emulator.clear()
    expect(ended.stderr).toMatch(kept)
    expect(ended.ms).toBeLessThan(5000)
    await deliverRest(directory.path, emulator)
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(1000))
  })
})

describe("durability: 'disk' with a service that answers", () => {
  it.each([
    ['process.exit()', 5000],
    ['await shipper.close()', 5000],
    ['', 5000],
    [`shipper.on('delivered', () => process.exit())`, 10],
    [`shipper.on('attempted', () => process.exit())`, 10],
  ])('leaves no event to the next process (%s)', async (end, count) => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    await using emulator = await startEmulator()
    const options = `spool: { directory: ${JSON.stringify(directory.path)} }, durability: 'disk'`
    const ended = await runScript(`${core(options)} log(0, ${count}); ${end}`, environmentFor(emulator))
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    await deliverRest(directory.path, emulator)
    expect(inOrder(numbersIn(emulator))).toEqual(upTo(count))
    expect(await readdir(directory.path)).toEqual([])
  })
})

it.each(['rejected', 'dropped'])(
  "a listener for '%s' that ends the process costs no report, and no event arrives twice",
  async name => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    await using emulator = await startEmulator()
    emulator.faults.rejectEvents(({ n }) => (n as number) % 2 === 1, 'odd')
    const spool = `spool: { directory: ${JSON.stringify(directory.path)} }`
    const source = `${core(`${spool}, durability: 'disk'`)}
    const told = { rejected: 0, dropped: 0, warning: 0 }
    shipper.on('rejected', () => told.rejected++)
    shipper.on('dropped', ({ count }) => (told.dropped += count))
    shipper.on('warning', () => told.warning++)
    let isEnding = false
    const end = () => {
      isEnding = true
      process.exit(3)
    }
    shipper.on('${name}', () => isEnding || end())
    process.on('exit', () => {
      const { delivered, dropped, pending } = shipper.stats()
      console.log(JSON.stringify({ ...told, settled: [delivered, dropped, pending] }))
    })
    log(0, 10)
    await shipper.flush()`
    const { code, stdout } = await runScript(source, environmentFor(emulator))
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ rejected: 5, dropped: 5, warning: 1, settled: [5, 5, 0] })
    await deliverRest(directory.path, emulator)
    expect(numbersIn(emulator)).toEqual([0, 2, 4, 6, 8])
    const letters = await readFile(join(directory.path, 'rejected.ndjson'), 'utf8')
    expect(letters.match(/"reason":"odd"/g)).toHaveLength(5)
  },
)
