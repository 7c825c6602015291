import { errorTypeOfDrop, isIntended } from '../accounting/drop-reasons.ts'
import type { Ledger } from '../accounting/ledger.ts'
import type { BatchQueue } from '../batch/batch-queue.ts'
import type { Delivery, Exported } from '../delivery/delivery.ts'
import type {
  Histogram,
  Meter,
  MeterProvider,
  MetricAttributes,
  ObservableInstrument,
  Observations,
} from '../options/meter-provider.ts'
import { queueMicrotask } from '../time.ts'
import { type MetricDefinition, metricDefinitions } from './metric-definitions.ts'

interface InstrumentsDeps {
  readonly ledger: Pick<Ledger, 'pending' | 'handedOff' | 'sent' | 'delivered' | 'dropCounts'>
  readonly batchQueue: Pick<BatchQueue, 'resentCount'>
  readonly delivery: Pick<Delivery, 'eventsInFlight'>
  /** Number of the shipper in the process. */
  readonly shipper: number
  /** Address of the service. */
  readonly service: URL
}

/**
 * Upper bounds of the buckets for the duration of exporting a batch, in seconds: those of HTTP, the default timeout, and
 * more for retries.
 */
const durationBounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 120, 600]

/** The metrics of open shippers. They must not be collected as garbage while metrics may change. */
const open = new Set<Instruments>()

/**
 * The metrics of a shipper, by the semantic conventions for the OpenTelemetry SDK. As a processor, the shipper queues
 * events. As an exporter, it sends them. All numbers are read from the ledger and the queues when metrics are
 * collected. Only the duration is recorded, when a batch is delivered or dropped.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/otel/sdk-metrics/
 */
export class Instruments {
  readonly #deps: InstrumentsDeps
  readonly #duration: Histogram
  readonly #processor: MetricAttributes
  readonly #exporter: MetricAttributes

  constructor(provider: MeterProvider, deps: InstrumentsDeps) {
    const meter = provider.getMeter('logferry')
    this.#deps = deps
    this.#processor = componentOf('logferry_log_processor', deps.shipper)
    this.#exporter = { ...componentOf('logferry_log_exporter', deps.shipper), ...serverOf(deps.service) }
    const { name, description, unit } = metricDefinitions.duration
    this.#duration = meter.createHistogram(name, {
      description,
      unit,
      advice: { explicitBucketBoundaries: durationBounds },
    })
    observe(meter, this)
    open.add(this)
  }

  onExported({ durationMs, status, errorType }: Exported): void {
    this.#duration.record(durationMs / 1000, {
      ...this.#exporter,
      ...(status !== undefined && { 'http.response.status_code': status }),
      ...(errorType !== undefined && { 'error.type': errorType }),
    })
  }

  /**
   * Lets the metrics end with the shipper, which was closed. A provider lives as long as the process, and would keep
   * every shipper that ever existed.
   */
  release(): void {
    open.delete(this)
  }

  collect(instruments: Observables, observations: Observations): void {
    const { ledger, batchQueue, delivery } = this.#deps
    const inFlight = delivery.eventsInFlight + batchQueue.resentCount
    observations.observe(instruments.queueSize, ledger.pending - ledger.handedOff - inFlight, this.#processor)
    observations.observe(instruments.inFlight, inFlight, this.#exporter)
    const drops = dropsByErrorType(ledger)
    observations.observe(instruments.processed, ledger.sent + drops.intended, this.#processor)
    observations.observe(instruments.exported, ledger.delivered, this.#exporter)
    for (const [type, count] of drops.unsent) {
      observations.observe(instruments.processed, count, { ...this.#processor, 'error.type': type })
    }
    for (const [type, count] of drops.sent) {
      observations.observe(instruments.exported, count, { ...this.#exporter, 'error.type': type })
    }
  }
}

interface Observables {
  readonly queueSize: ObservableInstrument
  readonly processed: ObservableInstrument
  readonly inFlight: ObservableInstrument
  readonly exported: ObservableInstrument
}

function observe(meter: Meter, instruments: Instruments): void {
  const { queueSize, processed, inFlight, exported } = metricDefinitions
  const observables: Observables = {
    queueSize: createObservable(meter, queueSize),
    processed: createObservable(meter, processed),
    inFlight: createObservable(meter, inFlight),
    exported: createObservable(meter, exported),
  }
  const all = Object.values(observables)
  const reference = new WeakRef(instruments)
  const collect = (observations: Observations): void => {
    const present = reference.deref()
    if (present !== undefined) present.collect(observables, observations)
    else queueMicrotask(() => meter.removeBatchObservableCallback(collect, all)) // later, as the callbacks are being called
  }
  meter.addBatchObservableCallback(collect, all)
}

function createObservable(meter: Meter, { name, kind, description, unit }: MetricDefinition): ObservableInstrument {
  return kind === 'Counter'
    ? meter.createObservableCounter(name, { description, unit })
    : meter.createObservableUpDownCounter(name, { description, unit })
}

interface DropsByErrorType {
  /** Events that were dropped before they were sent, because the application asked for it. */
  readonly intended: number
  readonly unsent: ReadonlyMap<string, number>
  readonly sent: ReadonlyMap<string, number>
}

/** Several reasons may have one type, and a second observation would replace the first. */
function dropsByErrorType(ledger: InstrumentsDeps['ledger']): DropsByErrorType {
  const unsent = new Map<string, number>()
  const sent = new Map<string, number>()
  let intended = 0
  for (const [reason, counts] of ledger.dropCounts()) {
    if (isIntended(reason)) intended += counts.unsent
    else {
      const type = errorTypeOfDrop(reason)
      if (counts.unsent > 0) unsent.set(type, (unsent.get(type) ?? 0) + counts.unsent)
      if (counts.sent > 0) sent.set(type, (sent.get(type) ?? 0) + counts.sent)
    }
  }
  return { intended, unsent, sent }
}

function componentOf(type: string, number: number): MetricAttributes {
  return { 'otel.component.type': type, 'otel.component.name': `${type}/${number}` }
}

function serverOf({ hostname, port, protocol }: URL): MetricAttributes {
  const defaultPort = protocol === 'https:' ? 443 : 80
  return {
    'server.address': hostname.replace(/^\[(.*)\]$/, '$1'),
    'server.port': port === '' ? defaultPort : Number(port),
  }
}
