/**
 * OpenTelemetry: dotted attribute names become nested objects, and resource and scope come along.
 *
 *     npx node examples/otel.ts
 */
import { logs, SeverityNumber } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { startEmulator } from 'logferry/emulator'
import { LogferryLogRecordProcessor } from 'logferry/otel'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

const provider = new LoggerProvider({
  resource: resourceFromAttributes({ 'service.name': 'checkout', 'service.version': '1.4.0' }),
  processors: [
    // The processor batches by itself. Code that takes an exporter has one, too:
    // new BatchLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ … }) })
    new LogferryLogRecordProcessor({ baseUrl: emulator.url, token: emulator.token, dataset: 'checkout' }),
  ],
})
logs.setGlobalLoggerProvider(provider)

const logger = logs.getLogger('shop', '2.0.0')

logger.emit({
  severityNumber: SeverityNumber.INFO,
  severityText: 'INFO',
  body: 'request served',
  attributes: { 'http.request.method': 'POST', 'http.route': '/orders', 'http.response.status_code': 201 },
})
logger.emit({
  severityNumber: SeverityNumber.WARN,
  eventName: 'stock.low',
  body: { sku: 'A-1', left: 3, warehouse: { city: 'Gent' } },
})

// Waits until everything is delivered, or for `flushTimeoutMs`.
await provider.shutdown()

console.log(`${emulator.eventCount('checkout')} events arrived:`)
console.dir(emulator.events('checkout'), { depth: null })
await emulator.close()
