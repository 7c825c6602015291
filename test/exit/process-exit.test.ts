import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Emulator } from '../../src/emulator.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { startRawServer } from '../support/raw-server.ts'
import { runScript } from '../support/run-script.ts'
import { core, enoughMs, environmentFor, inOrder, run, upTo, winston } from './running.ts'

const otel = (processor: string) => `
  import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
  import { resourceFromAttributes } from '@opentelemetry/resources'
  import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from 'logferry/otel'
  const exitTimeoutMs = ${enoughMs}
  const resource = resourceFromAttributes({ 'host.name': new Promise(() => {}), 'service.name': 'shop' })
  const provider = new LoggerProvider({ ${processor} })
  const logger = provider.getLogger('demo')
  const log = (from, to = from + 1) => { for (let n = from; n < to; n++) logger.emit({ body: 'x', attributes: { n } }) }
`

const ends = [
  ['process.exit()', 'process.exit()', 0],
  ['an uncaught exception', `throw new Error('boom')`, 1],
  ['an unhandled rejection', `void Promise.reject(new Error('boom')); await 1`, 1],
] as const

describe.concurrent('a process that ends in the tick of 1,000 log calls', () => {
  it.each(ends)('delivers them all, in order, with nothing on stdout (%s)', async (_, end, exitCode) => {
    const { code, stdout, stderr, numbers } = await run(`${core()} log(0, 1000); ${end}`)
    expect([code, stdout, stderr.includes('logferry:')]).toEqual([exitCode, '', false])
    expect(numbers).toEqual(upTo(1000))
  })

  it.each([
    ['Winston', winston()],
    ['the processor for OpenTelemetry', otel('processors: [new LogferryLogRecordProcessor({ exitTimeoutMs })]')],
    [
      'the same, before its resource is known',
      otel('resource, processors: [new LogferryLogRecordProcessor({ exitTimeoutMs })]'),
    ],
    [
      'the exporter, behind a SimpleLogRecordProcessor',
      otel(
        'processors: [new SimpleLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ exitTimeoutMs }) })]',
      ),
    ],
  ])('delivers them all, in order, by %s', async (_, logger) => {
    const { code, stderr, numbers } = await run(`${logger} log(0, 1000); process.exit()`)
    expect([code, stderr]).toEqual([0, ''])
    expect(numbers).toEqual(upTo(1000))
  })

  it.each([
    ['process.exit()', 'process.exit()'],
    ['an uncaught exception', `throw new Error('boom')`],
    ['SIGTERM', `process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 10_000)`],
  ])('delivers them all, in order, beside a slow transport of the same Winston logger (%s)', async (_, end) => {
    const slow = `
      import TransportStream from 'winston-transport'
      logger.add(new TransportStream({ log: (_, next) => setTimeout(next, 5) }))
    `
    const { numbers } = await run(`${winston()} ${slow} log(0, 1000); ${end}`)
    expect(numbers).toEqual(upTo(1000))
  })

  it.each([
    ['process.exit()', 'process.exit()'],
    ['an uncaught exception', `throw new Error('boom')`],
    ['SIGTERM', `process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 10_000)`],
    ['its natural end', ''],
  ])('delivers what waits for a transport that has stopped, long after other events (%s)', async (_, end) => {
    const stopped = `
      import TransportStream from 'winston-transport'
      logger.add(new TransportStream({ log: () => {} }))
    `
    const delivered = `await shipper.flush(); await new Promise(done => setTimeout(done, 100))`
    const { numbers } = await run(`${winston()} ${stopped} log(0, 100); ${delivered}; ${end}`)
    expect(numbers).toEqual(upTo(100))
  })

  it.each(['exit', 'beforeExit'])(
    'delivers what a listener of %s logs beside a transport that has stopped',
    async name => {
      const stopped = `
      import TransportStream from 'winston-transport'
      logger.add(new TransportStream({ log: () => {} }))
    `
      const { numbers } = await run(`${winston()} ${stopped} log(0, 100); process.once('${name}', () => log(100, 103))`)
      expect(numbers).toEqual(upTo(103))
    },
  )

  it.each([
    [
      'close()',
      'await shipper.close({ timeoutMs: 50 }); process.exit()',
      /10 events could not be delivered within 50 ms/,
    ],
    [
      'close() after memory was full',
      'log(10, 200_000); await shipper.close({ timeoutMs: 50 }); process.exit()',
      /could not be delivered within 50 ms/,
    ],
  ])('warns of a loss by %s and an end in the same tick', async (_, end, warning) => {
    const unreachable = core(`baseUrl: 'http://127.0.0.1:9', maxBufferedBytes: 8 * 2 ** 20`)
    const { stderr } = await run(`${unreachable} log(0, 10); ${end}`)
    expect(stderr).toMatch(warning)
  })

  it('delivers records held until their resource is known, although memory is short', async () => {
    const processor =
      'globalThis.processor = new LogferryLogRecordProcessor({ maxBufferedBytes: 2 ** 24, exitTimeoutMs: 15_000 })'
    const { code, stderr, numbers } = await run(`
      ${otel(`resource, processors: [${processor}]`)}
      const others = new LoggerProvider({ processors: [processor] }).getLogger('others')
      const body = 'x'.repeat(10_000)
      for (let n = 0; n < 850; n++) (n < 500 ? others : logger).emit({ body, attributes: { n } })
      process.exit()
    `)
    expect([code, stderr]).toEqual([0, ''])
    expect(inOrder(numbers)).toEqual(upTo(850))
  })

  it('delivers the pending events of an ended Winston logger, and of a shipper that is being closed', async () => {
    expect((await run(`${winston()} log(0, 1000); logger.end(); process.exit()`)).numbers).toEqual(upTo(1000))
    expect((await run(`${core()} log(0, 1000); void shipper.close(); process.exit()`)).numbers).toEqual(upTo(1000))
  })
})

describe.concurrent('a process whose license allows its next request long after its end', () => {
  it.each(['process.exit()', ''])('delivers its events: %s', async end => {
    const emulatorOptions = { org: { license: { apiRateLimitPerSecond: 1 } } }
    const environment: Record<string, string> = {}
    const prepare = ({ orgId, accessToken }: Emulator) =>
      void Object.assign(environment, { ORG_ID: orgId, ACCESS_TOKEN: accessToken })
    const { code, stderr, numbers } = await run(
      `
      ${core(`limits: { orgId: process.env.ORG_ID, accessToken: process.env.ACCESS_TOKEN, share: 0.1 }`)}
      const alive = setInterval(() => {}, 1000)
      while (shipper.stats().limits.readAt === undefined) await new Promise(resolve => setTimeout(resolve, 5))
      log(0)
      await shipper.flush()
      log(1)
      clearInterval(alive)
      ${end}
    `,
      { emulatorOptions, environment, prepare },
    )
    expect([code, stderr, numbers]).toEqual([0, '', [0, 1]])
  })
})

describe.concurrent('the end by process.exit()', () => {
  it('keeps the exit code, from the argument or process.exitCode', async () => {
    expect(await run(`${core()} log(0); process.exit(7)`)).toMatchObject({ code: 7, numbers: [0] })
    expect(await run(`${core()} log(0); process.exitCode = 8; process.exit()`)).toMatchObject({ code: 8, numbers: [0] })
  })

  it('delivers events that exit handlers of the application log, registered before and after', async () => {
    const { stderr, numbers } = await run(`
      process.on('exit', () => log(1))
      ${core()}
      process.on('exit', () => log(2))
      log(0)
      process.on('exit', () => { log(3); log(4); console.error(JSON.stringify(shipper.stats())) })
      process.exit()
    `)
    expect(inOrder(numbers)).toEqual([0, 1, 2, 3, 4])
    expect(JSON.parse(stderr)).toMatchObject({ accepted: 5, delivered: 5, dropped: 0, pending: 0 })
  })

  it('delivers the first log call of a process, made inside an exit handler', async () => {
    expect(await run(`${core()} process.on('exit', () => log(0)); process.exit()`)).toMatchObject({ numbers: [0] })
    const unknownResource = otel('resource, processors: [new LogferryLogRecordProcessor({ exitTimeoutMs })]')
    const { stderr, numbers } = await run(`${unknownResource} process.on('exit', () => log(0, 2)); process.exit()`)
    expect([stderr, numbers]).toEqual(['', [0, 1]])
  })

  it('delivers events that an exit handler logs at the natural end', async () => {
    const { code, numbers } = await run(`${winston()} log(0); process.on('exit', () => log(1))`)
    expect([code, numbers]).toEqual([0, [0, 1]])
  })

  it('delivers for several shippers, each to its own dataset', async () => {
    const { numbers } = await run(`${core()}
      const other = createShipper({ dataset: 'd', contentType: 'application/json', compression: 'gzip' })
      const off = createShipper({ exitTimeoutMs: 0 })
      log(0, 100)
      for (let n = 100; n < 200; n++) other.ship({ n })
      off.ship({ n: 200 })
      process.exit()
    `)
    expect(inOrder(numbers)).toEqual(upTo(200))
  })

  it.each([
    ['attempted', 503, 1, 2],
    ['attempted', 403, 1, 2],
    ['retried', 503, 1, 2],
    ['paused', 403, 1, 2],
    ['warning', 403, 1, 2],
    ['warning', 415, 1, 100],
    ['warning', 400, 2, 1],
  ])(
    'delivers events that were just refused, if a listener for %s makes the call (%i)',
    async (name, status, answers, count) => {
      const { code, stderr, numbers } = await run(
        `
      ${core('maxBatchAgeMs: 10')}
      let isEnding = false
      shipper.on('warning', () => {})
      shipper.on('${name}', () => {
        if (isEnding) return
        isEnding = true
        process.exit(3)
      })
      process.on('exit', () => console.error(JSON.stringify(shipper.stats())))
      log(0, ${count})
    `,
        { prepare: ({ faults }) => faults.answerNext(answers, { status }) },
      )
      expect([code, inOrder(numbers)]).toEqual([3, upTo(count)])
      expect(JSON.parse(stderr)).toMatchObject({ accepted: count, delivered: count, pending: 0 })
    },
  )

  it('sends events in flight again, and only these can arrive twice', async () => {
    const { numbers } = await run(
      `${core('maxBatchEvents: 500, maxConcurrentRequests: 1')}
      log(0, 1000)
      // The first 500 events are stored, but not answered.
      setInterval(() => shipper.stats().requestsInFlight > 0 && setTimeout(() => process.exit(), 300), 10)
    `,
      { prepare: ({ faults }) => Object.assign(faults, { latencyMs: firstAnswerLate() }) },
    )
    expect(inOrder(numbers)).toEqual(inOrder([...upTo(1000), ...upTo(500)]))
  })

  it('works the same inside beforeExit, when delivery has begun', async () => {
    const source = `${core()} log(0, 1000); process.on('beforeExit', () => process.exit(6))`
    expect(await run(source)).toMatchObject({ code: 6, numbers: upTo(1000) })
  })

  it('delivers for a thread of the application that ends itself', async () => {
    const { code, stderr, numbers } = await run(`
      import { Worker } from 'node:worker_threads'
      const source = 'import("logferry").then(({ createShipper }) => {' +
        'const shipper = createShipper(); for (let n = 0; n < 1000; n++) shipper.ship({ n }); process.exit(3) })'
      new Worker(source, { eval: true }).on('exit', code => process.exit(code))
    `)
    expect([code, stderr, numbers]).toEqual([3, '', upTo(1000)])
  })

  it("does no harm if the application emits 'exit', and the process continues", async () => {
    const { code, numbers } = await run(`${core()}
      log(0); process.emit('exit', 0); log(1)
      setTimeout(() => { log(2); process.emit('exit', 0) }, 50)
      setTimeout(() => log(3), 100)
    `)
    expect([code, numbers]).toEqual([0, [0, 1, 2, 3]])
  })

  it("counts each event once if a listener for 'delivered' emits 'exit' while requests are broken off", async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.socket.write('HTTP/1.1 200 OK\r\n\r\n{"failed":0') // without an end
    })
    const { stdout } = await runScript(
      `${core(`maxBatchEvents: 1, maxConcurrentRequests: 4, dataset: event => 'd' + event.n`)}
      shipper.on('delivered', () => process.emit('exit', 0))
      log(0, 4)
      while (shipper.stats().requestsInFlight < 4) await new Promise(resolve => setTimeout(resolve, 10))
      await new Promise(resolve => setTimeout(resolve, 200))
      await shipper.close({ timeoutMs: 0 })
      const { accepted, delivered, dropped, pending } = shipper.stats()
      console.log(JSON.stringify({ accepted, delivered, dropped, pending }))
      process.exit()`,
      environmentFor(server),
    )
    expect(JSON.parse(stdout)).toEqual({ accepted: 4, delivered: 4, dropped: 0, pending: 0 })
  })

  // Node would stop a remaining thread and wait for it, while V8 may wait for Node: 3 % of processes on a busy machine
  // hung.
  it.runIf(process.platform === 'linux')('leaves no thread behind after the exit handlers', async () => {
    const { stdout, numbers } = await run(`
      import { readdirSync } from 'node:fs'
      ${core()}
      const threads = () => readdirSync('/proc/self/task').length
      log(0)
      const before = threads()
      process.on('exit', () => {
        for (let n = 0; n < 100 && threads() > before; n++) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
        console.log(threads() - before)
      })
      process.exit()
    `)
    expect([stdout, numbers]).toEqual(['0\n', [0]])
  })

  it.each(['process.exit()', 'process.exitCode = 0'])(
    'drops events at once, counted, if exitTimeoutMs is 0: %s',
    async end => {
      const { numbers, stdout, stderr } = await run(`${core('exitTimeoutMs: 0')} log(0)
      process.on('exit', () => {
        log(1)
        console.log(JSON.stringify(shipper.stats().drops), process.report.getReport().workers.length)
      })
      ${end}`)
      expect([numbers, stdout]).toEqual([[], '{"closed":{"info":2}} 0\n'])
      expect(stderr).toContain(
        '1 event could not be delivered before the process ended. It is dropped. Await close() before the process ends, or ' +
          'allow time for delivery at the end (exitTimeoutMs).',
      )
    },
  )

  it('hands events off to the spool at once if exitTimeoutMs is 0', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-end-'))
    const spooled = core(`exitTimeoutMs: 0, spool: { directory: ${JSON.stringify(directory.path)} }`)
    const { numbers, stderr } = await run(`${spooled} log(0, 10); process.exit()`)
    expect(numbers).toEqual([])
    expect(stderr).toContain(
      '10 events could not be delivered before the process ended. Delivery continues from the spool',
    )
  })
})

describe.concurrent('trouble while the process ends', () => {
  const counted = `process.on('exit', () => console.error('stats ' + JSON.stringify(shipper.stats())))`
  const statsIn = (stderr: string) => JSON.parse(/^stats (.*)$/m.exec(stderr)?.[1] ?? '{}')

  it('a 503, six times: retried, with short waits', async () => {
    const { code, numbers } = await run(`${core('exitTimeoutMs: 5000')} log(0, 10); process.exit()`, {
      prepare: ({ faults }) => faults.answerNext(6, { status: 503 }),
    })
    expect([code, numbers]).toEqual([0, upTo(10)])
  })

  it('a connection that breaks: retried', async () => {
    const { numbers } = await run(`${core()} log(0, 10); process.exit()`, {
      prepare: ({ faults }) => faults.resetNext(1, 'before-storing'),
    })
    expect(numbers).toEqual(upTo(10))
  })

  it('a Retry-After that fits: waited for; one that does not: given up at once, with a warning', async () => {
    const busy = (seconds: number) => ({ status: 429, headers: { 'retry-after': String(seconds) } })
    const fits = await run(`${core('exitTimeoutMs: 5000')} log(0); process.exit()`, {
      prepare: ({ faults }) => faults.answerNext(1, busy(1)),
    })
    expect(fits).toMatchObject({ numbers: [0], requests: 2 })
    expect(fits.ms).toBeGreaterThan(1000)
    const tooLong = await run(`${core('exitTimeoutMs: 60_000')} log(0); process.exit()`, {
      prepare: ({ faults }) => faults.answerNext(1, busy(120)),
    })
    expect(tooLong).toMatchObject({ code: 0, numbers: [], requests: 1 })
    expect(tooLong.stderr).toContain('1 event could not be delivered before the process ended')
  })

  it.each([false, true])('a 413: the batch is split (with a reset after it: %s)', async reset => {
    const { numbers, stderr } = await run(`${core()} log(0, 1000); ${counted}; process.exit()`, {
      prepare: ({ faults }) => faults.maxBytes(20_000, { reset }),
    })
    expect(inOrder(numbers)).toEqual(upTo(1000))
    expect(statsIn(stderr)).toMatchObject({ accepted: 1000, delivered: 1000, pending: 0 })
  })

  it('one poison event: counted and reported, and the others are delivered', async () => {
    const { numbers, stderr } = await run(
      `${core()} log(0, 1000); shipper.on('rejected', ({ event }) => console.error('rejected', event.n)); ${counted}
      process.exit()`,
      { prepare: ({ faults }) => faults.rejectRequests(event => event.n === 700) },
    )
    expect(inOrder(numbers)).toEqual(upTo(1000).filter(n => n !== 700))
    expect(stderr).toContain('rejected 700')
    expect(statsIn(stderr)).toMatchObject({ delivered: 999, dropped: 1, pending: 0, drops: { rejected: { info: 1 } } })
  })

  it('half of the events refused in one long answer: each is counted and reported', async () => {
    const { numbers, stderr } = await run(
      `${core()} log(0, 2000); let told = 0; shipper.on('rejected', ({ event }) => { if (event.n % 2) told++ })
      process.on('exit', () => console.error('told', told)); ${counted}; process.exit()`,
      { prepare: ({ faults }) => faults.rejectEvents(event => (event.n as number) % 2 === 1, 'no '.repeat(60)) },
    )
    expect(numbers).toEqual(upTo(2000).filter(n => n % 2 === 0))
    expect(stderr).toContain('told 1000')
    expect(statsIn(stderr)).toMatchObject({ delivered: 1000, drops: { rejected: { info: 1000 } } })
  })

  it('a refused encoding: sent without compression', async () => {
    const { numbers } = await run(`${core()} log(0, 1000); process.exit()`, {
      prepare: ({ faults }) => faults.refuseEncodings(['zstd', 'gzip']),
    })
    expect(numbers).toEqual(upTo(1000))
  })

  it.each([
    [401, 1],
    [403, 4], // a firewall may object to one event, or to the size
    [404, 1],
    [307, 1],
  ])('a refusal (%i): given up at once, counted and reported', async (status, tried) => {
    const { code, stderr, numbers, requests, ms } = await run(
      `${core('exitTimeoutMs: 20_000')} log(0, 7); ${counted}; process.exit(2)`,
      { prepare: ({ faults }) => faults.answerNext(9, { status, headers: { location: 'http://127.0.0.1:9/' } }) },
    )
    expect([code, numbers, requests]).toEqual([2, [], tried])
    expect(ms).toBeLessThan(5000)
    expect(stderr).toMatch(new RegExp(`LOGFERRY_PAUSED.* ${status} `))
    expect(stderr).toMatch(/LOGFERRY_DROPPED.*7 events could not be delivered/)
    expect(statsIn(stderr)).toMatchObject({ accepted: 7, dropped: 7, pending: 0, drops: { closed: { info: 7 } } })
  })

  it.each([
    ['process.exit()', 'process.exit()'],
    ['its natural end', ''],
    ['close()', 'await shipper.close({ timeoutMs: 1999.9976569999999 })'],
    ['a signal', `process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)`],
  ])('a refused token: the warning about the loss by %s blames the token, not the time', async (_, end) => {
    const { stderr } = await run(`${core('exitTimeoutMs: 2000')} log(0, 7); ${end}`, {
      prepare: ({ faults }) => faults.answerNext(99, { status: 401, body: '{"message":"no such token"}' }),
    })
    const loss = /LOGFERRY_DROPPED.*/.exec(stderr)?.[0]
    expect(loss).toMatch(
      /7 events .*, because the service answers 401 \(no such token\) for dataset "d"\. .* Check that the token/,
    )
    expect(loss).not.toMatch(/slow|\d\.\d+ ms/)
    if (loss?.includes('within')) expect(loss).toContain('within 2000 ms,')
  })

  it('a black hole: the process ends by exitTimeoutMs, including log calls of exit handlers, and reports the loss', async () => {
    const server = await startRawServer(() => {})
    const { code, stdout, stderr, ms } = await runScript(
      `${core('exitTimeoutMs: 500')} log(0, 7); process.on('exit', () => log(7)); ${counted}; process.exit(5)`,
      environmentFor(server),
    )
    await server.close()
    expect([code, stdout]).toEqual([5, ''])
    expect(stderr).toContain('7 events could not be delivered within 500 ms')
    expect(statsIn(stderr)).toMatchObject({ accepted: 8, dropped: 8, pending: 0 })
    expect(ms).toBeGreaterThan(500)
    expect(ms).toBeLessThan(5000)
  })

  it('no server: retried until exitTimeoutMs, and reported', async () => {
    const server = await startRawServer(() => {})
    await server.close()
    const { stderr, ms } = await runScript(
      `${core('exitTimeoutMs: 500')} log(0, 7); process.exit()`,
      environmentFor(server),
    )
    expect(stderr).toMatch(/7 events could not be delivered/)
    expect(ms).toBeLessThan(5000)
  })

  it('an answer without end: its status counts', async () => {
    const server = await startRawServer(socket => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n${'x'.repeat(200_000)}`)
    })
    const { stderr, ms } = await runScript(
      `${core('exitTimeoutMs: 9000')} log(0, 7); ${counted}; process.exit()`,
      environmentFor(server),
    )
    await server.close()
    expect(statsIn(stderr)).toMatchObject({ delivered: 7 })
    expect(ms).toBeLessThan(5000)
  })

  it('answers with fewer bytes than their content-length: other requests follow', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.store()
      request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}')
    })
    const { stderr } = await runScript(
      `${core('exitTimeoutMs: 9000, maxBatchEvents: 1')} log(0, 8); ${counted}; process.exit()`,
      environmentFor(server),
    )
    expect(server.numbers.toSorted()).toEqual(upTo(8))
    expect(statsIn(stderr)).toMatchObject({ delivered: 8, dropped: 0 })
  })

  it('a status below 100: no answer, so the events are sent again', async () => {
    const server = await startRawServer((socket, _, index) => {
      socket.end(`HTTP/1.1 ${index === 0 ? '000' : '200'} Odd\r\ncontent-length: 0\r\n\r\n`)
    })
    const { stderr } = await runScript(`${core()} log(0, 7); ${counted}; process.exit()`, environmentFor(server))
    await server.close()
    expect(statsIn(stderr)).toMatchObject({ accepted: 7, delivered: 7, dropped: 0 })
  })

  it('a 200 before the service has received the request: no delivery, but a loss that is counted and reported', async () => {
    const server = await startRawServer((socket, _, index) => {
      socket.pause()
      if (index === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
    })
    // Time for the first attempt on a busy machine. The second attempt has no answer.
    const tooLargeForBuffers = `compression: 'none', maxBatchBytes: 16e6, maxEventBytes: 16e6, exitTimeoutMs: 3000`
    const { stderr } = await runScript(
      `${core(tooLargeForBuffers)} shipper.ship({ text: 'x'.repeat(12e6) }); ${counted}; process.exit()`,
      environmentFor(server),
    )
    await server.close()
    expect(stderr).toMatch(/LOGFERRY_DROPPED.*the service answered before it had received the request/)
    expect(statsIn(stderr)).toMatchObject({ accepted: 1, delivered: 0, drops: { closed: { info: 1 } } })
  })

  it.each([
    ['of the shipper', `shipper.on('warning', ({ message }) => console.error('heard', message))`, 0],
    ['of the process', `process.on('warning', ({ message }) => console.error('heard', message))`, 1],
    [
      'of the process that throws',
      `process.on('warning', ({ message }) => { console.error('heard', message); throw 1 })`,
      1,
    ],
  ])('is reported to a listener for warnings %s', async (_, listener, printed) => {
    const server = await startRawServer(() => {})
    const { code, stderr } = await runScript(
      `${core('exitTimeoutMs: 100')} ${listener}; log(0, 7); process.exit(9)`,
      environmentFor(server),
    )
    await server.close()
    expect(code).toBe(9)
    expect(stderr).toContain('heard logferry: 7 events could not be delivered')
    expect(stderr.match(/\[LOGFERRY_DROPPED\]/g) ?? []).toHaveLength(printed)
  })

  it("a listener for 'dropped' that ends the process: each event that close() gives up is counted and reported", async () => {
    const { code, stderr } = await run(
      `${core(`dataset: event => 'd' + (event.n % 10)`)}
      let told = 0
      shipper.on('dropped', ({ count }) => {
        told += count
        if (told === count) process.exit(3)
      })
      process.on('exit', () => console.error('told', told)); ${counted}
      log(0, 100); await shipper.close({ timeoutMs: 0 })`,
      { prepare: ({ faults }) => faults.answerNext(99, { status: 503 }) },
    )
    expect(code).toBe(3)
    expect(statsIn(stderr)).toMatchObject({ accepted: 100, pending: 0, drops: { closed: { info: 100 } } })
    expect(stderr).toContain('told 100')
    expect(stderr).toContain('100 events could not be delivered')
  })

  it('ends even if a listener logs each loss as a new event', async () => {
    const server = await startRawServer(() => {})
    const { code } = await runScript(
      `${core('exitTimeoutMs: 100')} shipper.on('dropped', () => log(1)); log(0, 7); process.exit(9)`,
      environmentFor(server),
    )
    await server.close()
    expect(code).toBe(9)
  })
})

/** Stores the first request without an answer, and answers the others at once. */
function firstAnswerLate(): () => number {
  let requests = 0
  return () => (requests++ === 0 ? 5000 : 0)
}

describe.concurrent("events that are logged in a handler of 'exit'", () => {
  it('are delivered if the shipper was created in that handler', async () => {
    const { code, stderr, numbers } = await run(`process.on('exit', () => { globalThis.log(0); globalThis.log(1) })
      process.prependListener('exit', async () => {})
      const { createShipper } = await import('logferry')
      let shipper
      globalThis.log = n => (shipper ??= createShipper()).ship({ level: 'info', n })
    `)
    expect([code, stderr, numbers]).toEqual([0, '', [0, 1]])
  })

  it.each([
    [
      'that have no time left',
      '',
      'log(0, 20)',
      /^events that were logged while the process ended could not be delivered within 500 ms\./m,
    ],
    [
      'after others were dropped',
      'log(20, 23)',
      'log(0, 20)',
      /^3 events .* 500 ms.*\nevents that were logged while the process ended .* 500 ms/,
    ],
  ])('%s are in a warning that covers all of them', async (_, before, atEnd, expected) => {
    const { stderr } = await run(
      `${core('exitTimeoutMs: 500')}
      shipper.on('warning', ({ message }) => console.error(message.replace(/^logferry: /, '')))
      ${before}
      process.on('exit', () => { ${atEnd} })
      process.exit()`,
      {
        prepare: ({ faults }) => {
          faults.latencyMs = before === '' ? 200 : 60_000
        },
      },
    )
    expect(stderr).toMatch(expected)
  })

  it('are not sent any more when the time is up, and each counts once', async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) setTimeout(() => request.take(), 150)
    })
    const { stdout } = await runScript(
      `${core('exitTimeoutMs: 2000')}
      process.on('exit', () => {
        const pause = new Int32Array(new SharedArrayBuffer(4))
        for (let n = 0; n < 30; n++) {
          log(n)
          Atomics.wait(pause, 0, 0, 10)
        }
        const { accepted, delivered, dropped, pending } = shipper.stats()
        console.log(accepted, delivered + dropped, pending, delivered)
      })`,
      environmentFor(server),
    )
    const [accepted, settled, pending, delivered] = stdout.trim().split(' ').map(Number)
    expect([accepted, settled, pending]).toEqual([30, 30, 0])
    expect(delivered).toBeGreaterThan(0)
    // The request that the end of the time interrupts may still arrive.
    expect(server.requestCount).toBeLessThanOrEqual((delivered as number) + 1)
  })
})

describe.concurrent('a 200 whose body never ends', () => {
  it.each([
    ['process.exit()', 'setTimeout(() => process.exit(), 300)'],
    ["an 'exit' handler", `process.exit()`],
    ['its natural end', ''],
    ['close()', 'await shipper.close({ timeoutMs: 500 })'],
  ])('counts as delivered at %s, and its events are not sent again', async (_, end) => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.store()
      request.socket.write('HTTP/1.1 200 OK\r\n\r\n{"failed":0')
    })
    const { stdout } = await runScript(
      `${core('exitTimeoutMs: 3000, maxBatchAgeMs: 10')} log(0, 20)
      process.on('exit', () => console.log(shipper.stats().delivered, shipper.stats().dropped))
      ${end}`,
      environmentFor(server),
    )
    expect([stdout, server.numbers, server.requestCount]).toEqual(['20 0\n', upTo(20), 1])
  })
})
