import { SeverityNumber } from '@opentelemetry/api'
import { emptyResource, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { expect, it, vi } from 'vitest'
import winston from 'winston'
import Transport from 'winston-transport'
import { startShipping } from './support/shipping.ts'

/** Logs as the transport does that OpenTelemetry's instrumentation adds to each logger. */
class OpenTelemetryTransportV3 extends Transport {
  readonly #provider: LoggerProvider
  readonly #scope: string

  constructor(provider: LoggerProvider, scope: string) {
    super()
    this.#provider = provider
    this.#scope = scope
  }

  override log({ message }: { message: string }, next: () => void) {
    this.#provider.getLogger(this.#scope, '0.34.0').emit({ body: message, severityNumber: SeverityNumber.INFO })
    next()
  }
}

/** Returns the warnings of a transport that logs beside OpenTelemetry's. Each call forgets earlier findings. */
async function warningsOf(
  scope: string,
  order: 'first' | 'last',
  way: 'processor' | 'exporter',
  { resource = emptyResource(), rounds = 3, loggers = 1, onLook = () => {} } = {},
) {
  vi.resetModules()
  const { LogferryTransport } = await import('../src/winston.ts')
  const { LogferryLogRecordExporter, LogferryLogRecordProcessor } = await import('../src/otel.ts')
  await using shipping = await startShipping()
  const { url: baseUrl, token } = shipping.emulator
  const ours = new LogferryTransport({ baseUrl, token, dataset: 'd' })
  const { shipper } = ours
  const warned: string[] = []
  ours.on('warn', ({ code }) => warned.push(code))
  const processor =
    way === 'processor'
      ? new LogferryLogRecordProcessor({ shipper })
      : new BatchLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ shipper }) })
  const provider = new LoggerProvider({ resource, processors: [processor] })
  const bridge = new OpenTelemetryTransportV3(provider, scope)
  const transports = order === 'first' ? [bridge, ours] : [ours, bridge]
  const all =
    loggers === 1
      ? [winston.createLogger({ transports })]
      : transports.map(transport => winston.createLogger({ transports: [transport] }))
  for (const logger of all) {
    const { transports: own } = logger
    Object.defineProperty(logger, 'transports', {
      get() {
        onLook()
        return own
      },
    })
  }
  for (let round = 1; round <= rounds; round++) {
    for (let n = 0; n < 5; n++) for (const logger of all) logger.info(`round ${round}, ${n}`)
    await provider.forceFlush()
  }
  await shipper.close()
  return warned
}

const scope = '@opentelemetry/winston-transport'

it.each([
  ['first', 'processor'],
  ['last', 'processor'],
  ['last', 'exporter'],
] as const)(
  'log calls that are shipped twice cause one warning (transport of OpenTelemetry: %s, of logferry: %s)',
  async (order, way) => {
    expect(await warningsOf(scope, order, way)).toEqual(['LOGFERRY_DUPLICATE'])
  },
)

it('log calls count as shipped twice also while the SDK detects the attributes of its resource', async () => {
  const resource = resourceFromAttributes({ 'host.id': Promise.resolve('a') })
  expect(await warningsOf(scope, 'first', 'processor', { resource, rounds: 1 })).toEqual(['LOGFERRY_DUPLICATE'])
})

it('records of other OpenTelemetry loggers do not count as shipped twice', async () => {
  expect(await warningsOf('mine', 'last', 'processor')).toEqual([])
})

it.each(['first', 'last'] as const)(
  'the same text from two loggers, each with one of the transports, does not count as shipped twice (%s)',
  async order => {
    const onLook = vi.fn()
    expect(await warningsOf(scope, order, 'processor', { loggers: 2, onLook })).toEqual([])
    expect(onLook).toHaveBeenCalledOnce() // not for each log call
  },
)
