import { toMessageLine } from './text/short-line.ts'

/** Stable codes of what logferry throws or reports. Match on these, never on the text. */
export type ErrorCode =
  /** An option is missing or malformed; thrown where the object is created. A `level` that its logger lacks is reported. */
  | 'LOGFERRY_INVALID_OPTION'
  /** The service refuses the token, the dataset or the address; delivery to that dataset is paused and probed. */
  | 'LOGFERRY_PAUSED'
  /** The service cannot be reached, is in trouble or is asked too often; delivery goes on by itself. */
  | 'LOGFERRY_UNREACHABLE'
  /** The service refused single events; they are not sent again. */
  | 'LOGFERRY_REJECTED'
  /** Events were dropped on this side: memory was full, or the time to deliver them ran out. */
  | 'LOGFERRY_DROPPED'
  /** A flush or a shutdown of OpenTelemetry ended before everything was delivered. */
  | 'LOGFERRY_TIMEOUT'
  /** An exporter of OpenTelemetry was used after it was shut down. */
  | 'LOGFERRY_SHUT_DOWN'
  /** The spool cannot be written or read, is full, or is damaged. */
  | 'LOGFERRY_SPOOL'
  /** The service does not take the compression or the batch size configured; a smaller step is used from now on. */
  | 'LOGFERRY_STEPPED_DOWN'
  /** The organization's license could not be read, or could not be shared with other processes. */
  | 'LOGFERRY_LIMITS'
  /** Something about the license: its dates, payment, regions, datasets or fields. */
  | 'LOGFERRY_LICENSE'
  /** The monthly ingest will not last, or is nearly used up. */
  | 'LOGFERRY_BUDGET'
  /** The application has taken away what delivers at the end of the process; it is put back. */
  | 'LOGFERRY_EXIT'
  /** Log calls of Winston are shipped twice, by the transport and by OpenTelemetry. */
  | 'LOGFERRY_DUPLICATE'
  /** A listener or function given by the application threw. */
  | 'LOGFERRY_CALLBACK_THREW'

/** An option that cannot be used: what it is called, and what was expected. */
export interface InvalidOption {
  readonly code: 'LOGFERRY_INVALID_OPTION'
  /** Name of the option, dotted where it is nested: `baseUrl.eu`. */
  readonly option: string
}

/**
 * The error for a bad option: a `TypeError` where the type is wrong or the option is missing, a `RangeError` where the
 * value is outside what is allowed. `got` is shown as it is: never pass it for a secret.
 */
export function invalidOption(
  option: string,
  expected: string,
  got: string,
  kind: 'type' | 'range' = 'type',
): (TypeError | RangeError) & InvalidOption {
  const message = toMessageLine(`logferry: option \`${option}\` must be ${expected}; got ${got}`)
  const error = kind === 'type' ? new TypeError(message) : new RangeError(message)
  return Object.assign(error, { code: 'LOGFERRY_INVALID_OPTION' as const, option })
}
