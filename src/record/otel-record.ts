/** Seconds and nanoseconds since 1970. */
export type HrTime = readonly [number, number]

/**
 * The fields of a log record that are read. Records of `@opentelemetry/sdk-logs` 0.200 to 3.x have this shape, in
 * exporters and in processors.
 */
export interface OtelLogRecord {
  readonly hrTime: HrTime
  readonly hrTimeObserved: HrTime
  readonly spanContext?: { readonly traceId: string; readonly spanId: string; readonly traceFlags: number } | undefined
  readonly severityText?: string | undefined
  readonly severityNumber?: number | undefined
  readonly body?: unknown
  readonly eventName?: string | undefined
  readonly resource: OtelResource
  readonly instrumentationScope: OtelScope
  readonly attributes: object
  readonly droppedAttributesCount: number
}

export interface OtelResource {
  readonly attributes: object
  readonly schemaUrl?: string | undefined
  /** True while some attributes are still being detected. */
  readonly asyncAttributesPending?: boolean | undefined
  waitForAsyncAttributes?(): Promise<void>
  /** Returns names and values. The value of an attribute that is still being detected is a promise. */
  getRawAttributes?(): readonly (readonly [string, unknown])[]
}

export interface OtelScope {
  readonly name: string
  readonly version?: string | undefined
  readonly schemaUrl?: string | undefined
  readonly attributes?: object | undefined
  readonly droppedAttributesCount?: number | undefined
}
