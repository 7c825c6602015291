// Checks assignments between types in every supported version of winston and of the OpenTelemetry SDK.
import type { LogRecordExporter, LogRecordProcessor } from '@opentelemetry/sdk-logs'
import { createShipper } from 'logferry'
import { startEmulator } from 'logferry/emulator'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from 'logferry/otel'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

const emulator = await startEmulator()
const shipper = createShipper({ baseUrl: emulator.url, token: emulator.token, dataset: 'types' })

export const exporter: LogRecordExporter = new LogferryLogRecordExporter({ shipper, acknowledge: 'delivered' })
export const processor: LogRecordProcessor = new LogferryLogRecordProcessor({ shipper })
export const logger: winston.Logger = winston.createLogger({
  transports: [new LogferryTransport({ shipper, level: 'info', format: winston.format.splat() })],
  exceptionHandlers: new LogferryTransport({ shipper }),
})
logger.add(new LogferryTransport({ shipper, handleRejections: true }))

/** Overrides `log` in the form of Winston's own custom transports. */
export class Enriched extends LogferryTransport {
  override log(info: winston.LogEntry, callback: () => void): void {
    super.log({ ...info, enriched: true }, callback)
  }
}
logger.add(new Enriched({ shipper }))

const token: string | undefined = process.env.LOGFERRY_TOKEN
createShipper({ baseUrl: emulator.url, token, region: undefined, dataset: event => String(event.tenant) })
