import { LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import winston from 'winston'
import type { Shipper } from '../../src/index.ts'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../../src/otel.ts'
import type { OtelLogRecord } from '../../src/record/otel-record.ts'
import { LogferryTransport } from '../../src/winston.ts'

/** Makes one log call. */
export type Log = (level: 'debug' | 'info' | 'error', message: string) => void

const severityNumbers = { debug: 5, info: 9, error: 17 }

/** Keeps infos as they are. Winston's default format would make JSON of each info. */
const asIs = winston.format(info => info)()

function otel(processor: LogferryLogRecordProcessor | SimpleLogRecordProcessor): Log {
  const logger = new LoggerProvider({ processors: [processor] }).getLogger('test')
  return (level, message) => logger.emit({ severityNumber: severityNumbers[level], body: message })
}

/** Returns a record as the SDK passes it to an exporter. */
export function otelRecord(body: string, fields: Partial<OtelLogRecord> = {}): OtelLogRecord {
  return {
    hrTime: [1_700_000_000, 0],
    hrTimeObserved: [1_700_000_000, 0],
    body,
    resource: { attributes: {} },
    instrumentationScope: { name: 'test' },
    attributes: {},
    droppedAttributesCount: 0,
    ...fields,
  }
}

/** Every way into the core. */
export const ways: readonly (readonly [name: string, logOf: (shipper: Shipper) => Log])[] = [
  ['ship()', shipper => (level, message) => void shipper.ship({ level, message })],
  [
    'Winston',
    shipper => {
      const logger = winston.createLogger({
        level: 'silly',
        format: asIs,
        transports: [new LogferryTransport({ shipper })],
      })
      return (level, message) => void logger.log(level, message)
    },
  ],
  [
    'Winston with format.json()',
    shipper => {
      const logger = winston.createLogger({ level: 'silly', transports: [new LogferryTransport({ shipper })] })
      return (level, message) => void logger.log(level, message, { some: 'field' })
    },
  ],
  ['the processor of OpenTelemetry', shipper => otel(new LogferryLogRecordProcessor({ shipper }))],
  [
    'the exporter of OpenTelemetry',
    shipper => otel(new SimpleLogRecordProcessor({ exporter: new LogferryLogRecordExporter({ shipper }) })),
  ],
]
