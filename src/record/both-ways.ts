import type { OtelLogRecord } from './otel-record.ts'

/** The scope under which OpenTelemetry's own Winston transport (`@opentelemetry/instrumentation-winston` adds it) emits. */
const bridgeName = '@opentelemetry/winston-transport'

/**
 * Finds out that the same log call is shipped twice: by our Winston transport, and by OpenTelemetry's, whose records end in
 * our processor or exporter. Both are called within the log call, so the later of the two finds the other's text.
 */
export const bothWays = {
  /** Records of that transport come to us. Until then, nothing else is done. */
  isBridged: false,
  /** The same text has come by both ways. */
  isFound: false,
}

let latestMessage: unknown
let latestBody: unknown

/** Whether records of a scope come from Winston. To be asked once for each scope. */
export function noteScope(name: unknown): void {
  if (name === bridgeName) bothWays.isBridged = true
}

/** A message is being shipped from Winston. */
export function noteMessage(message: unknown): void {
  if (bothWays.isFound) return
  if (typeof message === 'string' && message === latestBody) found()
  else latestMessage = message
}

/** A record is being shipped from OpenTelemetry. */
export function noteRecord(record: OtelLogRecord): void {
  try {
    if (!bothWays.isFound && record.instrumentationScope.name === bridgeName) noteBody(record.body)
  } catch {
    // No record of the SDK's.
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
