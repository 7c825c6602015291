import {
  BatchLogRecordProcessor,
  type LogRecordExporter,
  type LogRecordProcessor,
  type ReadableLogRecord,
} from '@opentelemetry/sdk-logs'
import { BareLoop } from './bare-loop.ts'
import { otelSource } from './otel-logger.ts'
import type { Source, Target } from './set-up.ts'

class BareProcessor implements LogRecordProcessor {
  readonly #loop: BareLoop

  constructor(loop: BareLoop) {
    this.#loop = loop
  }

  onEmit(record: ReadableLogRecord): void {
    this.#loop.add(jsonOf(record))
  }

  forceFlush(): Promise<void> {
    return this.#loop.flush()
  }

  shutdown(): Promise<void> {
    return this.#loop.close()
  }
}

class BareExporter implements LogRecordExporter {
  readonly #loop: BareLoop

  constructor(loop: BareLoop) {
    this.#loop = loop
  }

  export(records: ReadableLogRecord[], done: (result: { code: number }) => void): void {
    for (const record of records) this.#loop.add(jsonOf(record))
    done({ code: 0 })
  }

  forceFlush(): Promise<void> {
    return this.#loop.flush()
  }

  shutdown(): Promise<void> {
    return this.#loop.close()
  }
}

/** What we ship of a record too, but for its time. */
function jsonOf({ severityNumber, severityText, body, attributes, resource, instrumentationScope }: ReadableLogRecord) {
  return JSON.stringify({
    level: severityText,
    message: body,
    severity_number: severityNumber,
    attributes,
    resource: resource.attributes,
    scope: instrumentationScope,
  })
}

export function openProcessor({ url, workload }: Target): Source {
  return otelSource(workload, new BareProcessor(new BareLoop(url)))
}

export function openBatch({ url, workload }: Target): Source {
  return otelSource(workload, new BatchLogRecordProcessor({ exporter: new BareExporter(new BareLoop(url)) }))
}
