// Sets up the SDK of version 0.200.
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'

export const hasEventNames = false
/** Exists since version 0.215. */
export const forceFlushReachesExporter = false

export function providerOf(options, processor) {
  const provider = new LoggerProvider(options)
  provider.addLogRecordProcessor(processor)
  return provider
}

export function batching(exporter) {
  return new BatchLogRecordProcessor(exporter, { maxQueueSize: 4096 })
}
