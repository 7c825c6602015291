/**
 * Logs through Winston and through OpenTelemetry to a service that fails now and then, lets processes end right after
 * their log call, and counts what arrived. Exits with 1 if anything was lost.
 *
 *     npm run demo
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify, styleText } from 'node:util'
import { context, SeverityNumber } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { startEmulator } from 'logferry/emulator'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from 'logferry/otel'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

interface Source {
  name: string
  dataset: string
  logged: number
}

const eventsPerSource = 1000

const emulator = await startEmulator()
const service = { baseUrl: emulator.url, token: emulator.token }
const resource = resourceFromAttributes({ 'service.name': 'shop', 'service.version': '1.4.0' })
context.setGlobalContextManager(new AsyncLocalStorageContextManager())
const tracer = new TracerProvider().getTracer('shop')

const startedMs = performance.now()
const sources = [
  await logWithWinston(),
  await logWithOtel(),
  await logWithOtelBatches(),
  await logAndEnd('A process that logs and ends', 'last-words', ''),
  await logAndEnd('A process that logs and calls process.exit()', 'exit-words', 'process.exit()'),
]
const seconds = (performance.now() - startedMs) / 1000
report(sources, seconds)
await emulator.close()

async function logWithWinston(): Promise<Source> {
  const source = { name: 'Winston', dataset: 'winston', logged: 0 }
  heading('Winston', 'The service answers 503 to the first request. The last two of 1,000 events, as they arrived:')
  emulator.faults.answerNext(1, { status: 503 })

  const transport = new LogferryTransport({ ...service, dataset: source.dataset })
  const logger = winston.createLogger({ transports: [transport] })
  // Every event carries its number, so that one that is missing, or there twice, is noticed.
  while (source.logged < eventsPerSource - 2) logger.info('item added', { n: source.logged++, cart: { items: 3 } })
  tracer.startActiveSpan('place order', span => {
    const orderLogger = logger.child({ order: { id: 42, customer: { id: 1234, plan: 'team' } } })
    orderLogger.info('order placed', { n: source.logged++ })
    const error = new Error('card declined', { cause: new Error('the bank answered 51') })
    orderLogger.error('payment failed', { n: source.logged++, error })
    span.end()
  })
  logger.end()
  await once(logger, 'finish')

  showLast(2, source)
  return source
}

async function logWithOtel(): Promise<Source> {
  const source = { name: 'OpenTelemetry', dataset: 'otel', logged: 0 }
  heading('OpenTelemetry', 'The service breaks the first connection. The last of 1,000 records, as it arrived:')
  emulator.faults.resetNext(1, 'before-storing')

  const processors = [new LogferryLogRecordProcessor({ ...service, dataset: source.dataset })]
  const provider = new LoggerProvider({ resource, processors })
  const logger = provider.getLogger('shop.http')
  tracer.startActiveSpan('POST /orders', span => {
    while (source.logged < eventsPerSource) {
      logger.emit({
        severityNumber: SeverityNumber.INFO,
        body: 'request served',
        attributes: { n: source.logged++, 'http.request.method': 'POST', 'http.response.status_code': 201 },
      })
    }
    span.end()
  })
  await provider.shutdown()

  showLast(1, source)
  return source
}

async function logWithOtelBatches(): Promise<Source> {
  const source = { name: "OpenTelemetry, through the SDK's own batches", dataset: 'otel-batches', logged: 0 }
  heading("OpenTelemetry, through the SDK's BatchLogRecordProcessor", 'The last of 1,000 records:')

  const exporter = new LogferryLogRecordExporter({ ...service, dataset: source.dataset })
  const provider = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter })] })
  const logger = provider.getLogger('shop.stock')
  while (source.logged < eventsPerSource) {
    const body = { sku: 'A-1', warehouse: { city: 'Gent', left: 3 } }
    logger.emit({ eventName: 'stock.low', body, attributes: { n: source.logged++ } })
  }
  await provider.shutdown()

  showLast(1, source)
  return source
}

async function logAndEnd(name: string, dataset: string, lastLine: string): Promise<Source> {
  const source = { name, dataset, logged: 1 }
  heading(name, 'This is its whole program:')
  const program = `
    import winston from 'winston'
    import { LogferryTransport } from 'logferry/winston'
    const logger = winston.createLogger({ transports: [new LogferryTransport()] })
    logger.warn('last words', { n: 0 })
    ${lastLine}
  `
  console.log(`${styleText('dim', program.slice(1).trimEnd())}\n`)

  const options = { LOGFERRY_URL: emulator.url, LOGFERRY_TOKEN: emulator.token, LOGFERRY_DATASET: source.dataset }
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: new URL('..', import.meta.url),
    env: { ...process.env, ...options },
  })

  showLast(1, source)
  return source
}

function heading(title: string, subtitle: string): void {
  console.log(`\n${styleText('bold', title)}\n${subtitle}\n`)
}

function showLast(count: number, { dataset }: Source): void {
  console.group()
  for (const line of emulator.lines(dataset).slice(-count)) {
    const event = JSON.parse(line, (key, value) => (key === 'stack' ? `${value.split('\n', 1)} …` : value))
    console.dir(event, { depth: null })
  }
  console.groupEnd()
}

function report(sources: readonly Source[], seconds: number): void {
  const { requests, answers } = emulator.stats()
  const answered = Object.values(answers).reduce((sum, times) => sum + times, 0)
  const trouble = `${answers[503]} answered with 503, ${requests - answered} broken off`
  heading('The count', `${requests} requests in ${seconds.toFixed(1)} s, ${trouble}.`)

  const counts = sources.map(source => ({ name: source.name, ...count(source) }))
  const sum = (column: 'logged' | 'received' | 'lost' | 'twice') =>
    counts.reduce((total, row) => total + row[column], 0)
  const lost = sum('lost')
  const total = { name: 'Total', logged: sum('logged'), received: sum('received'), lost, twice: sum('twice') }
  console.log(row('', 'logged', 'received', 'lost', 'twice'))
  for (const { name, logged, received, lost, twice } of [...counts, total]) {
    console.log(row(name, ...[logged, received, lost, twice].map(each => each.toLocaleString('en'))))
  }

  const verdict = lost === 0 ? styleText(['bold', 'green'], 'None lost.') : styleText(['bold', 'red'], `${lost} lost.`)
  console.log(`\n${verdict}`)
  if (lost > 0) process.exitCode = 1
}

function count({ dataset, logged }: Source) {
  const numbers = emulator.events(dataset).map(({ n, attributes }) => n ?? (attributes as { n: number }).n)
  const distinct = new Set(numbers).size
  return { logged, received: numbers.length, lost: logged - distinct, twice: numbers.length - distinct }
}

function row(name: string, ...cells: string[]): string {
  return name.padEnd(46) + cells.map(cell => cell.padStart(10)).join('')
}
