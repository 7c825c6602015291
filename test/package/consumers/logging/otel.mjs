// `node otel.mjs processor|exporter SDK` logs 3,000 records, and compares them with the events that the service
// received.
import assert from 'node:assert/strict'
import { ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { startEmulator } from 'logferry/emulator'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from 'logferry/otel'
import { arrived } from './arrived.mjs'

const [way, sdk] = process.argv.slice(2)
const { batching, forceFlushReachesExporter, hasEventNames, providerOf } = await import(sdk)

const emulator = await startEmulator()
const options = {
  baseUrl: emulator.url,
  token: emulator.token,
  dataset: 'orders',
  minSeverity: 'info',
  context: () => ({ tenant: 'blue' }),
  transform: event => (event.message === 'unwanted' ? undefined : event),
}
const processors = {
  processor: () => new LogferryLogRecordProcessor(options),
  exporter: () => batching(new LogferryLogRecordExporter(options)),
}

const resource = resourceFromAttributes({ 'service.name': 'shop' })
const provider = providerOf({ resource }, processors[way]())
const logger = provider.getLogger('checkout', '1.2.3')
const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }
const context = trace.setSpanContext(ROOT_CONTEXT, span)

logger.emit({ severityNumber: 5, body: 'below the minimum severity' })
logger.emit({ severityNumber: 17, body: 'unwanted' })
for (let id = 0; id < 3000; id++) {
  logger.emit({
    severityNumber: 17,
    severityText: 'ERROR',
    eventName: 'order.refused',
    body: `order ${id} refused`,
    attributes: { 'order.id': id, 'order.total': 99.5, 'http.request.method': 'POST' },
    context,
  })
}
await provider.forceFlush()
if (way === 'processor' || forceFlushReachesExporter) {
  assert.equal(emulator.eventCount('orders'), 3000, 'delivered when forceFlush resolves')
}
await provider.shutdown()
assert.equal(emulator.eventCount('orders'), 3000, 'delivered, once, when shutdown resolves')

for (const [id, { _time, observed_time, ...event }] of arrived(emulator, 'orders').entries()) {
  assert.match(_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
  assert.deepEqual(event, {
    level: 'error',
    message: `order ${id} refused`,
    severity_number: 17,
    severity_text: 'ERROR',
    ...(hasEventNames && { event_name: 'order.refused' }),
    trace_id: span.traceId,
    span_id: span.spanId,
    trace_flags: '01',
    attributes: { order: { id, total: 99.5 }, http: { request: { method: 'POST' } } },
    resource: { service: { name: 'shop' } },
    scope: { name: 'checkout', version: '1.2.3' },
    tenant: 'blue',
  })
}
await emulator.close()
