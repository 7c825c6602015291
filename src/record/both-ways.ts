import type { OtelLogRecord } from './otel-record.ts'

/**
 * Scope of the records from OpenTelemetry's own Winston transport. `@opentelemetry/instrumentation-winston` adds that
 * transport to loggers.
 */
const bridgeName = '@opentelemetry/winston-transport'

/**
 * Detects log calls that are shipped twice: by our Winston transport, and by OpenTelemetry's, whose records end in our
 * processor or exporter. Both transports run within the log call, so the later one finds the text that the earlier one
 * noted.
 */
export const bothWays = {
  /** True after a record of OpenTelemetry's Winston transport has arrived. Until then, no texts are compared. */
  isBridged: false,
  /** True after the same text has arrived from both transports. */
  isFound: false,
}

let latestMessage: unknown
let latestBody: unknown

/** Notes whether records of a scope come from Winston. One call for each scope is enough. */
export function noteScope(name: unknown): void {
  if (name === bridgeName) bothWays.isBridged = true
}

/** Notes the message of a Winston info that is being shipped. */
export function noteMessage(message: unknown): void {
  if (bothWays.isFound) return
  if (typeof message === 'string' && message === latestBody) found()
  else latestMessage = message
}

/** Notes an OpenTelemetry record, within the log call: when it is shipped, or held until its resource is known. */
export function noteRecord(record: OtelLogRecord): void {
  try {
    if (bothWays.isFound || record.instrumentationScope.name !== bridgeName) return
    bothWays.isBridged = true
    noteBody(record.body)
  } catch {
    // The record was not made by the SDK.
  }
}

function noteBody(body: unknown): void {
  if (typeof body === 'string' && body === latestMessage) found()
  else latestBody = body
}

function found(): void {
  bothWays.isFound = true
  latestMessage = undefined
  latestBody = undefined
}
