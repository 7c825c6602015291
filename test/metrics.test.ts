/** Metrics as OpenTelemetry's SDK collects them. */
import { type MeterProvider as ApiMeterProvider, metrics } from '@opentelemetry/api'
import { type DataPoint, DataPointType, type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { describe, expect, it } from 'vitest'
import { createShipper, type ShipperOptions } from '../src/index.ts'
import { startShipping } from './support/shipping.ts'
import { makeSpool } from './support/spool-of-test.ts'
import { until } from './support/until.ts'
import { upAfterClose } from './support/up-after-close.ts'

/** A reader that collects only on demand. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

type Attributes = Readonly<Record<string, unknown>>

function startMetrics() {
  const reader = new Reader()
  const meterProvider = new MeterProvider({ readers: [reader] })
  const collect = async () => {
    const { resourceMetrics, errors } = await reader.collect()
    expect(errors).toEqual([])
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
  }
  return {
    meterProvider,
    /** Returns every instrument: its kind, its unit, and whether it only grows. */
    async instruments() {
      const found = await collect()
      return Object.fromEntries(
        found.map(metric => [
          metric.descriptor.name,
          [DataPointType[metric.dataPointType], metric.descriptor.unit, 'isMonotonic' in metric && metric.isMonotonic],
        ]),
      )
    },
    /** Returns the values of an instrument by `error.type`; '' stands for none. */
    async values(name: string): Promise<Record<string, unknown>> {
      const metric = (await collect()).find(({ descriptor }) => descriptor.name === name)
      const points = (metric?.dataPoints ?? []) as DataPoint<unknown>[]
      return Object.fromEntries(points.map(({ attributes, value }) => [attributes['error.type'] ?? '', value]))
    },
    /** Returns the sum of all durations. */
    async seconds(): Promise<number> {
      const metric = (await collect()).find(({ descriptor }) => descriptor.name === duration)
      const points = (metric?.dataPoints ?? []) as DataPoint<Histogram>[]
      return points.reduce((sum, { value }) => sum + (value.sum ?? 0), 0)
    },
    /** Returns the attributes of all values of an instrument, with the number of values of a histogram. */
    async points(name: string): Promise<(Attributes & { value: unknown })[]> {
      const metric = (await collect()).find(({ descriptor }) => descriptor.name === name)
      return ((metric?.dataPoints ?? []) as DataPoint<unknown>[]).map(({ attributes, value }) => {
        return { ...attributes, value: (value as Histogram | null)?.count ?? value }
      })
    },
  }
}

const queueSize = 'otel.sdk.processor.log.queue.size'
const processed = 'otel.sdk.processor.log.processed'
const inflight = 'otel.sdk.exporter.log.inflight'
const exported = 'otel.sdk.exporter.log.exported'
const duration = 'otel.sdk.exporter.operation.duration'

describe('metrics', () => {
  it('are those of the semantic conventions, with their kinds and units', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider })
    shipper.ship({ n: 1 })
    await shipper.flush()
    expect(await sdk.instruments()).toEqual({
      [queueSize]: ['SUM', '{log_record}', false],
      [processed]: ['SUM', '{log_record}', true],
      [inflight]: ['SUM', '{log_record}', false],
      [exported]: ['SUM', '{log_record}', true],
      [duration]: ['HISTOGRAM', 's', false],
    })
  })

  it('name the component and the service, and number the shippers', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    const shippers = [1, 2].map(() => shipping.ship({ meterProvider: sdk.meterProvider }))
    for (const shipper of shippers) {
      shipper.ship({ n: 1 })
      await shipper.flush()
    }
    const [first, second] = await sdk.points(exported)
    const number = Number(/^logferry_log_exporter\/(\d+)$/.exec(String(first?.['otel.component.name']))?.[1])
    const server = { 'server.address': '127.0.0.1', 'server.port': shipping.emulator.port }
    const exporter = { 'otel.component.type': 'logferry_log_exporter', ...server, value: 1 }
    expect(first).toEqual({ ...exporter, 'otel.component.name': `logferry_log_exporter/${number}` })
    expect(second).toEqual({ ...exporter, 'otel.component.name': `logferry_log_exporter/${number + 1}` })
    expect((await sdk.points(processed))[0]).toEqual({
      'otel.component.type': 'logferry_log_processor',
      'otel.component.name': `logferry_log_processor/${number}`,
      value: 1,
    })
    const successful = { ...first, 'http.response.status_code': 200 }
    expect((await sdk.points(duration))[0]).toEqual(successful)
  })

  it.each([
    ['https://logs.example', 'logs.example', 443],
    ['https://logs.example:8443/edge', 'logs.example', 8443],
    ['http://localhost', 'localhost', 80],
    ['http://[::1]:4318', '::1', 4318],
  ])('name the service of %s', async (baseUrl, address, port) => {
    const sdk = startMetrics()
    const shipper = createShipper({ baseUrl, token: 't', dataset: 'd', meterProvider: sdk.meterProvider })
    expect((await sdk.points(inflight))[0]).toMatchObject({ 'server.address': address, 'server.port': port })
    await shipper.close()
  })

  it('record the duration of an export that close() gives up', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    shipping.emulator.faults.latencyMs = 60_000
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider })
    const attempted: unknown[] = []
    shipper.on('attempted', attempt => attempted.push(attempt))
    for (let n = 0; n < 3; n++) shipper.ship({ n })
    await shipper.close({ timeoutMs: 100 })
    await until(() => attempted.length > 0, 'the attempt ends')
    expect(attempted).toMatchObject([{ dataset: 'd', count: 3, status: undefined, errorType: expect.any(String) }])
    expect(await sdk.points(duration)).toMatchObject([{ 'error.type': expect.any(String), value: 1 }])
    expect(shipper.stats().requests).toBe(1)
  })

  it('count an event as queued, then in flight through its retries, then once as exported', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider, maxRetryDelayMs: 50, maxBatchAgeMs: 60_000 })
    for (let n = 0; n < 10; n++) shipper.ship({ n })
    expect(await sdk.values(queueSize)).toEqual({ '': 10 })
    expect(await sdk.values(inflight)).toEqual({ '': 0 })
    expect(await sdk.values(processed)).toEqual({ '': 0 })
    shipping.emulator.faults.answerNext(10_000, { status: 503 })
    const flushed = shipper.flush()
    await until(() => shipper.stats().requests > 0, 'the batch is sent')
    const startedMs = performance.now()
    await until(() => shipper.stats().retries > 2, 'the batch is sent again')
    const waitedSeconds = (performance.now() - startedMs) / 1000
    expect(await sdk.values(queueSize)).toEqual({ '': 0 })
    expect(await sdk.values(inflight)).toEqual({ '': 10 })
    expect(await sdk.values(processed)).toEqual({ '': 10 })
    expect(await sdk.values(exported)).toEqual({ '': 0 })
    shipping.emulator.faults.clear()
    await flushed
    expect(await sdk.values(inflight)).toEqual({ '': 0 })
    expect(await sdk.values(processed)).toEqual({ '': 10 })
    expect(await sdk.values(exported)).toEqual({ '': 10 })
    const durations = await sdk.points(duration)
    expect(durations).toEqual([{ ...durations[0], 'http.response.status_code': 200, value: 1 }])
    expect(durations[0]).not.toHaveProperty(['error.type'])
    expect(await sdk.seconds()).toBeGreaterThan(waitedSeconds)
  })

  it('record one duration for a batch of which the service refuses all, with an error', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider })
    shipping.emulator.faults.rejectEvents(() => true, 'bad')
    for (let n = 0; n < 3; n++) shipper.ship({ n })
    await shipper.flush()
    const refused = { 'error.type': 'rejected', 'http.response.status_code': 200, value: 1 }
    expect(await sdk.points(duration)).toMatchObject([refused])
  })

  it('count an event as processed once, although close() hands it off and the same shipper takes it back', async () => {
    await using shipping = await startShipping()
    using spool = makeSpool()
    const sdk = startMetrics()
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider, spool: { directory: spool.directory } })
    shipping.emulator.faults.answerNext(10_000, { status: 503 })
    for (let n = 0; n < 10; n++) shipper.ship({ n })
    await shipper.close({ timeoutMs: 0 })
    expect(shipper.stats().spool?.handedOff).toBe(10)
    expect(await sdk.values(processed)).toEqual({ '': 10 })
    await upAfterClose(shipping.emulator)
    shipper.ship({ n: 10 }) // takes back what close() has handed off
    await until(() => shipper.stats().delivered === 11, 'all events are delivered')
    expect(await sdk.values(processed)).toEqual({ '': 11 })
    expect(await sdk.values(exported)).toEqual({ '': 11 })
  })

  it('count refused events as exported with an error', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider })
    shipping.emulator.faults.rejectEvents(event => event.n === 3, 'bad')
    for (let n = 0; n < 10; n++) shipper.ship({ n })
    await shipper.flush()
    expect(await sdk.values(exported)).toEqual({ '': 9, rejected: 1 })
    expect(await sdk.values(processed)).toEqual({ '': 10 })
  })

  it.each<[string, ShipperOptions]>([
    ['queue_full', { maxBufferedBytes: 16_384, maxBatchBytes: 2048, baseUrl: 'http://127.0.0.1:1' }],
    ['dataset', { dataset: () => '' }],
  ])('count events that are not kept as processed with the error %s', async (type, options) => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider, ...options })
    let dropped = 0
    for (let n = 0; n < 300; n++) if (!shipper.ship({ n, text: 'x'.repeat(100) })) dropped++
    expect(dropped).toBeGreaterThan(0)
    expect((await sdk.values(processed))[type]).toBe(dropped)
  })

  it('count events that close() gives up as exported or processed, by whether they had been sent', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    shipping.emulator.faults.answerNext(10_000, { status: 503 })
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider, maxBatchEvents: 10, maxConcurrentRequests: 1 })
    for (let n = 0; n < 100; n++) shipper.ship({ n })
    await shipper.flush({ timeoutMs: 50 })
    await shipper.close({ timeoutMs: 0 })
    const sent = Number((await sdk.values(exported)).closed)
    expect(sent).toBeGreaterThan(0)
    expect(await sdk.values(processed)).toEqual({ '': sent, closed: 100 - sent })
    expect(await sdk.values(queueSize)).toEqual({ '': 0 })
    expect(await sdk.values(inflight)).toEqual({ '': 0 })
  })

  it('name the error of a connection', async () => {
    const sdk = startMetrics()
    const options = { baseUrl: 'http://127.0.0.1:1', token: 't', dataset: 'd', meterProvider: sdk.meterProvider }
    const shipper = createShipper(options)
    shipper.on('warning', () => {})
    shipper.ship({ n: 1 })
    await shipper.flush({ timeoutMs: 100 })
    await shipper.close({ timeoutMs: 0 })
    expect(await sdk.points(duration)).toMatchObject([{ 'error.type': 'ECONNREFUSED', value: 1 }])
  })

  it('name a timeout', async () => {
    await using shipping = await startShipping()
    const sdk = startMetrics()
    shipping.emulator.faults.latencyMs = 10_000
    const shipper = shipping.ship({ meterProvider: sdk.meterProvider, requestTimeoutMs: 100, maxRetryDelayMs: 10 })
    shipper.ship({ n: 1 })
    await until(() => shipper.stats().retries > 0, 'a request times out')
    await shipper.close({ timeoutMs: 0 })
    expect(await sdk.points(duration)).toMatchObject([{ 'error.type': 'timeout', value: 1 }])
  })

  it('do no harm where the meter provider fails', async () => {
    await using shipping = await startShipping()
    const histogram = {
      record() {
        throw new Error('broken')
      },
    }
    const instrument = { addCallback() {} }
    const meter = {
      createHistogram: () => histogram,
      createObservableCounter: () => instrument,
      createObservableUpDownCounter: () => instrument,
      addBatchObservableCallback() {},
      removeBatchObservableCallback() {},
    }
    const shipper = shipping.ship({ meterProvider: { getMeter: () => meter } })
    shipper.ship({ n: 1 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipping.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_CALLBACK_THREW'])
  })

  it('take the provider of the API, which does nothing until an SDK is registered', async () => {
    await using shipping = await startShipping()
    const meterProvider: ApiMeterProvider = metrics.getMeterProvider()
    const shipper = shipping.ship({ meterProvider })
    shipper.ship({ n: 1 })
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
  })
})
