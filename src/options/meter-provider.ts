/**
 * The part of OpenTelemetry's metrics interface that this package uses. A `MeterProvider` of `@opentelemetry/api` 1.4 or
 * later is assignable to it. No module of OpenTelemetry is imported.
 */
export interface MeterProvider {
  getMeter(name: string, version?: string): Meter
}

export interface Meter {
  createHistogram(name: string, options?: MetricOptions): Histogram
  createObservableCounter(name: string, options?: MetricOptions): ObservableInstrument
  createObservableUpDownCounter(name: string, options?: MetricOptions): ObservableInstrument
  addBatchObservableCallback(callback: (observations: Observations) => void, observables: ObservableInstrument[]): void
  removeBatchObservableCallback(
    callback: (observations: Observations) => void,
    observables: ObservableInstrument[],
  ): void
}

export interface MetricOptions {
  description?: string
  unit?: string
  advice?: { explicitBucketBoundaries?: number[] }
}

export interface MetricAttributes {
  [name: string]: string | number
}

export interface Histogram {
  record(value: number, attributes?: MetricAttributes): void
}

/** An instrument that is asked for its values when metrics are collected. */
export type ObservableInstrument = object

/** Takes the values of several instruments at one moment. */
export interface Observations {
  observe(instrument: ObservableInstrument, value: number, attributes?: MetricAttributes): void
}
