/** A metric, as an application's `MeterProvider` gets it. */
export interface MetricDefinition {
  readonly name: string
  readonly kind: 'UpDownCounter' | 'Counter' | 'Histogram'
  readonly unit: string
  /** The words of the semantic conventions: exporters merge metrics by name, and expect one description for each. */
  readonly description: string
}

/**
 * The metrics of a shipper, by the semantic conventions for the OpenTelemetry SDK. `npm run docs:tables` writes them
 * into docs/metrics.md.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/otel/sdk-metrics/
 */
export const metricDefinitions = {
  /** Events that have not been sent yet. */
  queueSize: {
    name: 'otel.sdk.processor.log.queue.size',
    kind: 'UpDownCounter',
    unit: '{log_record}',
    description: 'The number of log records in the queue of a given instance of an SDK log processor.',
  },
  /** Events that were sent for the first time; with `error.type`, events that were dropped before. */
  processed: {
    name: 'otel.sdk.processor.log.processed',
    kind: 'Counter',
    unit: '{log_record}',
    description: 'The number of log records for which the processing has finished, either successful or failed.',
  },
  /** Events that have been sent, and wait for their answer or for another attempt. */
  inFlight: {
    name: 'otel.sdk.exporter.log.inflight',
    kind: 'UpDownCounter',
    unit: '{log_record}',
    description: 'The number of log records passed to the exporter that have not been exported yet.',
  },
  /** Events that the service has accepted; with `error.type`, events that were dropped after they were sent. */
  exported: {
    name: 'otel.sdk.exporter.log.exported',
    kind: 'Counter',
    unit: '{log_record}',
    description: 'The number of log records for which the export has finished, either successful or failed.',
  },
  /** Time from the first request for a batch until its last answer; with `error.type` if events of it were dropped. */
  duration: {
    name: 'otel.sdk.exporter.operation.duration',
    kind: 'Histogram',
    unit: 's',
    description: 'The duration of exporting a batch of telemetry records.',
  },
} as const satisfies Record<string, MetricDefinition>
