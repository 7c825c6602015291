import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { otelSource } from './otel-logger.ts'
import type { Source, Target } from './set-up.ts'

export function open({ url, workload, load }: Target, { hasLargeQueue }: { hasLargeQueue: boolean }): Source {
  const exporter = new OTLPLogExporter({ url: `${url}/v1/logs` })
  const queue = hasLargeQueue ? { maxQueueSize: load.events + load.warmUpEvents } : {}
  return otelSource(workload, new BatchLogRecordProcessor({ exporter, ...queue }))
}
