/**
 * Winston and OpenTelemetry through one shipper: one queue, one set of connections, one place to look at. Their events
 * within a span carry the same trace.
 *
 *     npx node examples/one-shipper.ts
 */
import { context, SeverityNumber } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { createShipper } from 'logferry'
import { startEmulator } from 'logferry/emulator'
import { LogferryLogRecordProcessor } from 'logferry/otel'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'checkout' })

const winstonLogger = winston.createLogger({ transports: [new LogferryTransport({ shipper })] })
const loggerProvider = new LoggerProvider({
  resource: resourceFromAttributes({ 'service.name': 'shop' }),
  processors: [new LogferryLogRecordProcessor({ shipper })],
})
const otelLogger = loggerProvider.getLogger('stock')

// Tracing as your application has it, most likely from @opentelemetry/sdk-node.
context.setGlobalContextManager(new AsyncLocalStorageContextManager())
const tracer = new TracerProvider().getTracer('shop')

tracer.startActiveSpan('place order', span => {
  winstonLogger.info('order placed', { order: { id: 42 } })
  otelLogger.emit({ severityNumber: SeverityNumber.INFO, body: 'stock reserved', attributes: { 'order.id': 42 } })
  span.end()
})

// A shipper that you make is yours to close: loggers that share it only flush it when they end.
await shipper.close()

const { delivered, requests } = shipper.stats()
console.log(`Events delivered: ${delivered}, requests made: ${requests}`)
console.dir(emulator.events('checkout'), { depth: null })
await emulator.close()
