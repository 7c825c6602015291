import { type Logger, SeverityNumber } from '@opentelemetry/api'
import { LoggerProvider, type LogRecordProcessor } from '@opentelemetry/sdk-logs'
import type { Workload } from '../workload/event.ts'
import type { Source } from './set-up.ts'

/** Logs through the OpenTelemetry SDK, with one processor. */
export function otelSource(workload: Workload, processor: LogRecordProcessor): Required<Source> {
  const provider = new LoggerProvider({ processors: [processor] })
  const logger: Logger = provider.getLogger('benchmark')
  const { message, meta } = workload
  return {
    log(n) {
      logger.emit({
        severityNumber: SeverityNumber.INFO,
        severityText: 'INFO',
        body: message,
        attributes: meta(n) as never,
      })
    },
    flush: () => provider.forceFlush(),
    end: () => provider.shutdown(),
  }
}
