// Sets up the current SDK.
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LoggerProviderOptions,
  type LogRecordProcessor,
} from '@opentelemetry/sdk-logs'
import type { LogferryLogRecordExporter } from 'logferry/otel'

export const hasEventNames = true
export const forceFlushReachesExporter = true

export function providerOf(options: LoggerProviderOptions, processor: LogRecordProcessor): LoggerProvider {
  return new LoggerProvider({ ...options, processors: [processor] })
}

export function batching(exporter: LogferryLogRecordExporter): BatchLogRecordProcessor {
  return new BatchLogRecordProcessor({ exporter, maxQueueSize: 4096 })
}
