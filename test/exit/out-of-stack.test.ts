/**
 * Log calls at the end of the stack, in a recursion whose caller catches the RangeError as a web framework does. Each
 * event is accepted or dropped as a whole, and later events are delivered.
 */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { runScript } from '../support/run-script.ts'
import { isSoak } from '../support/soak-runs.ts'
import { core, environmentFor, inOrder, upTo, winston } from './running.ts'

const afterwards = 200

/** Returns a logger for each call, because a logger in whose own frames the stack ends passes nothing on any more. */
const winstonLoggers = (options: string, format: string) => `
  ${winston(options)}
  transport.setMaxListeners(0)
  const newLogger = () => winston.createLogger({ format: ${format}, transports: [transport] })
  let loggers = []
  const call = n => (n < 0 ? loggers[left] : logger).info('hello', { n })
  globalThis.prepare = count => (loggers = Array.from({ length: count }, newLogger))
`

const otel = (processor: string) => `
  import { BatchLogRecordProcessor, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
  import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from 'logferry/otel'
  ${processor}
  const provider = new LoggerProvider({ processors: [processor] })
  const logger = provider.getLogger('demo')
  const call = n => logger.emit({ body: 'hello', attributes: { n } })
`

/** Each way makes one log call with `call(n)`. Some ways need further steps before events are accepted. */
const loggers: readonly (readonly [name: string, source: (options: string) => string, beforeEnd: string])[] = [
  ['the core', options => `${core(options)} const call = n => shipper.ship({ level: 'info', n })`, ''],
  [
    'the core with functions that shape events',
    options => `
      const context = () => ({ request_id: 'r-1' })
      const transform = event => ({ ...event, added: 1 })
      const sample = event => (event.n === 'none' ? 0 : 1)
      ${core(`context, transform, sample, ${options}`)}
      const call = n => shipper.ship({ level: 'info', n })
    `,
    '',
  ],
  ['Winston without a format', options => winstonLoggers(options, '{ transform: info => info }'), ''],
  ['Winston with format.json()', options => winstonLoggers(options, 'winston.format.json()'), ''],
  [
    'the processor for OpenTelemetry',
    options => otel(`const processor = new LogferryLogRecordProcessor({ ${options} }); const { shipper } = processor`),
    '',
  ],
  [
    'the exporter behind a SimpleLogRecordProcessor',
    options =>
      otel(`
        const exporter = new LogferryLogRecordExporter({ ${options} })
        const { shipper } = exporter
        const processor = new SimpleLogRecordProcessor({ exporter })
      `),
    '',
  ],
  [
    'the exporter behind a BatchLogRecordProcessor',
    options =>
      otel(`
        const exporter = new LogferryLogRecordExporter({ ${options} })
        const { shipper } = exporter
        const processor = new BatchLogRecordProcessor({ exporter, maxQueueSize: 1_000_000 })
        // Where the stack ends within a promise of the SDK, the SDK leaves the rejection unhandled, and goes on.
        process.on('unhandledRejection', error => {
          if (!/^RangeError.*\\n.*new Promise.*\\n.*new ExportOperation/.test(error?.stack)) throw error
        })
      `),
    'await provider.forceFlush()',
  ],
]

/**
 * Makes a log call in each of the last frames before the stack ends, again and again, then ordinary calls, and ends.
 * Notes an error that a call throws from within the product. The first frame of a call may not fit on the stack.
 */
const program = (overflows: number, beforeEnd = '') => `
  const thrown = []
  const problems = []
  let left = 0
  let calls = 0
  let returned = 0
  let dropped = 0
  let delivered = 0
  shipper.on('warning', ({ code, message }) => code === 'LOGFERRY_SPOOL' && problems.push(message))
  shipper.on('dropped', ({ count }) => (dropped += count))
  shipper.on('delivered', ({ count }) => (delivered += count))
  function recur() {
    try {
      recur()
    } catch {}
    if (left <= 0) return
    left--
    calls++
    try {
      call(-1)
      returned++
    } catch (error) {
      if (thrown.length < 1e6) thrown[thrown.length] = error
    }
  }
  function overflow(frames) {
    globalThis.prepare?.(frames)
    left = frames
    recur()
  }
  function check(when) {
    const { accepted, delivered, dropped, pending } = shipper.stats()
    if (accepted !== delivered + dropped + pending || pending < 0) {
      problems.push([when, shipper.stats()])
    }
  }
  for (let n = 0; n < ${overflows}; n++) {
    overflow([200, 400, 800][n % 3])
    check('after an overflow')
    if (n % 5 === 0) await new Promise(resolve => setTimeout(resolve, 20))
    if (n % 7 === 0) {
      ${beforeEnd}
      const { complete, pending } = await shipper.flush({ timeoutMs: 5000 })
      if (complete !== (pending === 0)) problems.push(['flush', complete, pending])
    }
    check('later')
  }
  overflow(200)
  for (let n = 0; n < ${afterwards}; n++) call(n)
  ${beforeEnd}
  process.on('exit', () => {
    check('at the end')
    problems.push(...thrown.map(({ stack }) => stack).filter(stack => isWithin(stack.split('\\n'))))
    const stats = shipper.stats()
    console.log(JSON.stringify({ problems: problems.slice(0, 3), calls, returned, told: { dropped, delivered }, stats }))
  })
  process.exit()

  // The first line is the message. The second line names the function whose frame had no room.
  function isWithin([, , ...callers]) {
    return callers.some(line => line.includes('/dist/') && !line.includes('node_modules'))
  }
`

const everyCall = [
  ['memory', 'one dataset', ''],
  ['memory', 'a dataset for each call', `dataset: () => 'd' + (names++ % 100),`],
  ['disk', 'one dataset', ''],
  ['disk', 'a dataset for each call', `dataset: () => 'd' + (names++ % 50),`],
] as const

/** What the loggers add to a call of the core does not depend on the place of its events. The soak tries each place. */
const someCalls = [everyCall[3]]

describe.each(loggers)('log calls where the stack ends, by %s', (name, logger, beforeEnd) => {
  const isWhole = isSoak || name === 'the core'
  it.each(isWhole ? everyCall : someCalls)(
    'are accepted or dropped, and nothing after them is lost (%s, %s)',
    { timeout: 60_000 },
    async (durability, _, dataset) => {
      await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-stack-'))
      await using emulator = await startEmulator()
      const spool = `spool: { directory: ${JSON.stringify(directory.path)} }, durability: 'disk'`
      const options = `maxBatchEvents: 150, exitTimeoutMs: 20_000, ${dataset} ${durability === 'disk' ? spool : ''}`
      const source = `${logger(options)} 
let names = 0
${program(isWhole ? 12 : 6, beforeEnd)}`
      const environment = { ...environmentFor(emulator), NODE_NO_WARNINGS: '1' }
      const { code, stdout, stderr } = await runScript(source, environment)
      expect(code, stderr).toBe(0)
      const { problems, calls, returned, told, stats } = JSON.parse(stdout)
      expect(problems).toEqual([])
      expect(calls).toBeGreaterThan(isWhole ? 5000 : 2500)
      expect(returned).toBeGreaterThan(isWhole ? 2000 : 800)
      expect(stats.pending).toBe(0)
      expect(told).toEqual({ dropped: stats.dropped, delivered: stats.delivered })
      expect(['error', 'dataset']).toEqual(expect.arrayContaining(Object.keys(stats.drops)))
      const events = emulator.datasets().flatMap(name => emulator.events(name))
      // Events in flight at process.exit() are sent again.
      expect(new Set(events.map(({ _time }) => _time)).size).toBe(stats.delivered)
      const numbers = events.map(({ n, attributes }) => (n ?? (attributes as { n?: number } | undefined)?.n) as number)
      expect(inOrder([...new Set(numbers.filter(n => n >= 0))])).toEqual(upTo(afterwards))
    },
  )
})
