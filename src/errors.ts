import { toMessageLine } from './text/short-line.ts'

/**
 * Stable codes of the errors and warnings of this package. Match on these codes, never on the text. The page
 * `docs/troubleshooting.md` has a section for each code: its meaning, causes and remedies.
 */
export type ErrorCode =
  /**
   * An option or an argument is missing or malformed. Thrown by the constructor or method that gets it. Exception: a
   * Winston `level` that the logger does not have is a warning.
   */
  | 'LOGFERRY_INVALID_OPTION'
  /**
   * The service refuses the token, the dataset, the address, or every event of a dataset. Delivery to that dataset is
   * paused, and probed from time to time.
   */
  | 'LOGFERRY_PAUSED'
  /** The service is unreachable, in trouble, or over its rate limit. Delivery continues by itself. */
  | 'LOGFERRY_UNREACHABLE'
  /** The service refused single events. They are not sent again, unless the warning says that they are kept. */
  | 'LOGFERRY_REJECTED'
  /**
   * This process dropped events: memory was full, the time to deliver ran out, or a log call could not take its event.
   */
  | 'LOGFERRY_DROPPED'
  /** Events were not delivered within the time of an OpenTelemetry export, flush or shutdown, or of `shipAndConfirm`. */
  | 'LOGFERRY_TIMEOUT'
  /** An OpenTelemetry exporter was used after its shutdown. */
  | 'LOGFERRY_SHUT_DOWN'
  /** The spool cannot be written or read, is full or damaged, or keeps events for a later process. */
  | 'LOGFERRY_SPOOL'
  /**
   * The service does not accept the configured compression or batch size. A smaller step is used, and the better one is
   * tried again from time to time.
   */
  | 'LOGFERRY_STEPPED_DOWN'
  /**
   * The organization's license could not be read, a limit could not be shared with other processes, or the request rate
   * holds events back.
   */
  | 'LOGFERRY_LIMITS'
  /** The license has a problem: its dates, payment, regions, datasets or fields. */
  | 'LOGFERRY_LICENSE'
  /** Fields of a dataset are too many, have names that look like values, or change their type (option `fields`). */
  | 'LOGFERRY_FIELDS'
  /** The monthly ingest will run out before the billing period ends, or 80 % or 95 % of it is used. */
  | 'LOGFERRY_BUDGET'
  /** The application removed the listeners that deliver events at the end of the process. They are installed again. */
  | 'LOGFERRY_EXIT'
  /** Winston's log calls are shipped twice: by the transport and by OpenTelemetry. */
  | 'LOGFERRY_DUPLICATE'
  /** A listener or function of the application threw, or the function returned a value of no use. */
  | 'LOGFERRY_CALLBACK_THREW'

/** The properties of an error about an option or an argument that cannot be used. */
export interface InvalidOption {
  readonly code: 'LOGFERRY_INVALID_OPTION'
  /** Name of the option or argument: `baseUrl.eu` for a nested option, `redact[0]` for an item of an array. */
  readonly option: string
}

/**
 * Creates the error for an option that cannot be used. The message shows `got` as it is: never pass a secret.
 *
 * @param option name of the option, with dots for nested options
 * @param expected what the option must be, after “must be”
 * @param got what the option is
 * @param kind `'type'` for a wrong type or a missing option, `'range'` for a value that is not allowed
 * @returns a `TypeError` or a `RangeError`, by `kind`
 */
export function invalidOption(
  option: string,
  expected: string,
  got: string,
  kind: 'type' | 'range' = 'type',
): (TypeError | RangeError) & InvalidOption {
  return invalid('option', option, expected, got, kind)
}

/** Creates the error for an argument that cannot be used, as `invalidOption` does for an option. */
export function invalidArgument(
  argument: string,
  expected: string,
  got: string,
  kind: 'type' | 'range' = 'type',
): (TypeError | RangeError) & InvalidOption {
  return invalid('argument', argument, expected, got, kind)
}

function invalid(
  what: 'option' | 'argument',
  name: string,
  expected: string,
  got: string,
  kind: 'type' | 'range',
): (TypeError | RangeError) & InvalidOption {
  const message = toMessageLine(`logferry: ${what} \`${name}\` must be ${expected}; got ${got}`)
  return misusedOption(name, kind === 'type' ? new TypeError(message) : new RangeError(message))
}

/** Marks an error as the refusal of one option. */
export function misusedOption<E extends Error>(option: string, error: E): E & InvalidOption {
  return Object.assign(error, { code: 'LOGFERRY_INVALID_OPTION' as const, option })
}
