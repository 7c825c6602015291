import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { LogferryLogRecordExporter, LogferryLogRecordProcessor } from '../../../dist/otel.js'
import { ending, type Options, openShipper } from './logferry-shipper.ts'
import { otelSource } from './otel-logger.ts'
import type { Source, Target } from './set-up.ts'

export function openProcessor(target: Target, options: Options): Source {
  const shipper = openShipper(target, options)
  const source = otelSource(target.workload, new LogferryLogRecordProcessor({ shipper }))
  return { ...source, end: () => source.end().then(ending(shipper).end) }
}

export function openExporter(target: Target, options: Options): Source {
  const shipper = openShipper(target, options)
  const exporter = new LogferryLogRecordExporter({ shipper })
  const source = otelSource(target.workload, new BatchLogRecordProcessor({ exporter }))
  return { ...source, end: () => source.end().then(ending(shipper).end) }
}
