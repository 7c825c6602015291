import { type Severity, type SeverityName, severities } from '../accounting/severity.ts'
import { invalidArgument, invalidOption } from '../errors.ts'
import { isOptionGroup, ownProperties } from '../own-properties.ts'
import { isFunction } from './checks.ts'
import { described, describedWord, kindOf, kindOfMistake, oneOf } from './described.ts'
import { custom, type DefinitionsOf, word } from './option.ts'
import { unknownOption } from './unknown-option.ts'

/** Shares of events that are kept, by severity: 1 keeps every event, 0 none. A severity without a rate keeps every event. */
export type SampleRates = { readonly [Name in SeverityName]?: number | undefined }

/** Returns the share of events like this one that is kept, from 0 to 1. It must not change the event. */
export type SampleFunction = (event: Readonly<Record<string, unknown>>) => number

/** Options of `sample` in full. */
export interface SampleOptions {
  /** Rates by severity, or a function of the event that returns its rate. */
  readonly rates: SampleRates | SampleFunction
  /**
   * The unit that is kept or dropped.
   *
   * - `'event'`: each event by itself, at random.
   * - `'trace'`: at the same rate, all events with the same `trace_id`, in every process. The events that a lower rate
   *   keeps are among those that a higher rate keeps. An event without `trace_id` is kept or dropped by itself.
   *
   * The decision for a W3C trace id is that of OpenTelemetry's consistent probability samplers, which compare the last
   * 56 bits of the id with the rate. For any other `trace_id`, a hash decides.
   *
   * @defaultValue 'event'
   */
  readonly by?: 'event' | 'trace' | undefined
}

/** Options that decide which events are shipped, and with which fields. */
export interface ShapingOptions {
  /**
   * Minimum severity of events that are shipped: `trace`, `debug`, `info`, `warn`, `error` or `fatal`. The
   * level of an event may also be a name of npm, syslog and CLI levels: `silly` counts as trace, `http` as info, `crit` as
   * fatal.
   *
   * An event below the minimum is not read, and is neither accepted nor dropped. `setMinSeverity()` changes the minimum
   * at run time.
   *
   * @defaultValue 'trace': every event
   */
  minSeverity?: SeverityName | undefined
  /**
   * Returns fields for each event as an object or a `Map`, for example from an `AsyncLocalStorage`. An event keeps its own
   * value of a field. The result `undefined` adds nothing.
   *
   * The function runs inside the log call, and should be quick. If it throws, or returns a promise or no object, the
   * event is shipped without the function's fields. A warning (`LOGFERRY_CALLBACK_THREW`) reports that once a minute.
   *
   * @defaultValue none
   */
  context?: (() => object | null | undefined) | undefined
  /**
   * Returns the event to ship: the given event, which the function may change, or another one. If the result is
   * `undefined` or `null`, the event is dropped, and counted with the reason `transform`.
   *
   * The function gets the event as it will be shipped, except for the timestamp. The event is a copy: changes reach
   * neither the application's objects nor other transports. Only `resource` and `scope` of an OpenTelemetry record are
   * shared and frozen: replace them as a whole.
   *
   * The function runs inside the log call, and should be quick. If it throws, or returns a promise or no object, the
   * event is shipped unchanged, and a warning (`LOGFERRY_CALLBACK_THREW`) reports that once a minute.
   *
   * @defaultValue none
   */
  transform?: ((event: Record<string, unknown>) => object | null | undefined) | undefined
  /**
   * Ships a sample of the events. Its value is rates by severity, such as `{ debug: 0.1, info: 0.5 }`, or a function of
   * the event that returns a rate from 0 to 1. `{ rates, by: 'trace' }` keeps or drops the events of a trace together.
   *
   * A kept event has its rate in the field `logferry.sampling_rate`, unless that is 1. Other events are dropped, and
   * counted with the reason `sample`.
   *
   * A function runs inside the log call, and should be quick. If it throws, or returns no such number, the event is
   * shipped, and a warning (`LOGFERRY_CALLBACK_THREW`) reports that once a minute.
   *
   * @defaultValue none: every event is shipped
   */
  sample?: SampleRates | SampleFunction | SampleOptions | undefined
}

/** The shaping options as the core uses them. */
export interface ResolvedShaping {
  readonly minSeverity: SeverityName
  readonly context: ShapingOptions['context']
  readonly transform: ShapingOptions['transform']
  /** `undefined` if every event is shipped. */
  readonly sample: ResolvedSample | undefined
}

export interface ResolvedSample {
  /** A rate for each severity, or a function. */
  readonly rates: RatesBySeverity | SampleFunction
  readonly by: 'event' | 'trace'
}

type RatesBySeverity = Readonly<Record<Severity, number>>

const expectedSample = 'an object: { debug: 0.1, … } or { rates, by }, or a function of the event'
const expectedRates = 'an object: { debug: 0.1, … }, or a function of the event'
const expectedRate = 'a number from 0 to 1'

/** The definition of each of `ShapingOptions`. `resolveShaping` checks what is inside of `sample`. */
export const shapingOptions = {
  minSeverity: word(severities, { default: 'trace', summary: 'minimum severity of events that are shipped' }),
  context: custom<NonNullable<ShapingOptions['context']>>({
    accepts: isFunction,
    expected: 'a function that returns fields',
    values: 'function',
    summary: 'returns fields for each event, see [Context](shaping.md#context)',
  }),
  transform: custom<NonNullable<ShapingOptions['transform']>>({
    accepts: isFunction,
    expected: 'a function of the event',
    values: 'function of the event',
    summary: 'returns the event to ship, or nothing, see [Transform](shaping.md#transform)',
  }),
  sample: custom<NonNullable<ShapingOptions['sample']>>({
    accepts: value => isFunction(value) || isOptionGroup(value),
    expected: expectedSample,
    values: '`{ debug: 0.1, … }`, `{ rates, by }`, or function of the event',
    summary: 'ships a sample of the events, see [Sample](shaping.md#sample)',
  }),
} satisfies DefinitionsOf<ShapingOptions>

/**
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if `sample` is malformed
 */
export function resolveShaping(options: ShapingOptions): ResolvedShaping {
  const { minSeverity = 'trace', context, transform, sample } = options
  return { minSeverity, context, transform, sample: sample && resolveSample(sample) }
}

/**
 * Checks the name of a severity, the argument of `setMinSeverity`.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if there is no severity of that name
 */
export function checkedSeverity(name: unknown): SeverityName {
  const found = severities.find(severity => severity === name)
  if (found === undefined)
    throw invalidArgument('severity', oneOf(severities), describedWord(name), kindOfMistake(name, 'string'))
  return found
}

function resolveSample(given: NonNullable<ShapingOptions['sample']>): ResolvedSample | undefined {
  if (typeof given === 'function') return { rates: given, by: 'event' }
  const own: Partial<SampleOptions> & SampleRates = ownProperties(given)
  if (!('rates' in own || 'by' in own)) {
    checkNames(own, [...severities, 'rates', 'by'], 'sample')
    return sampleOf(resolveRates(own, 'sample'), 'event')
  }
  checkNames(own, ['rates', 'by'], 'sample')
  const { rates, by = 'event' } = own
  if (by !== 'event' && by !== 'trace')
    throw invalidOption('sample.by', "'event' or 'trace'", describedWord(by), kindOfMistake(by, 'string'))
  if (isFunction(rates)) return { rates: rates as SampleFunction, by }
  if (!isOptionGroup(rates)) {
    throw invalidOption('sample.rates', expectedRates, rates === undefined ? 'nothing' : kindOf(rates))
  }
  return sampleOf(resolveRates(ownProperties(rates as SampleRates), 'sample.rates'), by)
}

function sampleOf(rates: RatesBySeverity, by: 'event' | 'trace'): ResolvedSample | undefined {
  return Object.values(rates).every(rate => rate === 1) ? undefined : { rates, by }
}

function resolveRates(rates: SampleRates, option: string): RatesBySeverity {
  checkNames(rates, severities, option)
  return Object.fromEntries(
    severities.map((name, severity) => [severity, checkedRate(rates[name], `${option}.${name}`)]),
  ) as unknown as RatesBySeverity
}

function checkedRate(rate: unknown, option: string): number {
  if (rate === undefined) return 1
  if (isRate(rate)) return rate
  throw invalidOption(option, expectedRate, described(rate), kindOfMistake(rate, 'number'))
}

/** True for a number from 0 to 1. */
export function isRate(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1
}

function checkNames(given: object, names: readonly string[], option: string): void {
  const unknown = Object.keys(given).find(name => !names.includes(name))
  if (unknown !== undefined) throw unknownOption(unknown, names, option)
}
