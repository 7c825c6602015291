import type { SeverityName } from '../accounting/severity.ts'
import { type DefinitionsOf, integer, word } from './option.ts'

/** The severities that can bound held events, least severe first. Nothing is below trace. */
export const heldSeverities = ['debug', 'info', 'warn', 'error', 'fatal'] as const satisfies SeverityName[]

/** Options for repeated events: `collapse` of a shipper. `undefined` means the default. */
export interface CollapseOptions {
  /**
   * Length of a window, in milliseconds. Integer, 100 to 3 600 000.
   *
   * A window begins with the first of identical events, which is shipped at once. The others of the window become one
   * event, which is shipped when the window ends.
   *
   * @defaultValue 10000
   */
  windowMs?: number | undefined
}

/** The definition of each of `CollapseOptions`. */
export const collapseOptions = {
  windowMs: integer({
    min: 100,
    max: 3_600_000,
    unit: 'milliseconds',
    default: 10_000,
    summary: 'time for which repetitions of an event are collapsed',
  }),
} satisfies DefinitionsOf<CollapseOptions>

export interface ResolvedCollapse {
  readonly windowMs: number
}

/**
 * Options for events that are worth shipping only if something goes wrong: `hold` of a shipper. `undefined` means the
 * default.
 */
export interface HoldOptions {
  /**
   * Events below this severity are held: `'debug'`, `'info'`, `'warn'`, `'error'` or `'fatal'`, at most `trigger`.
   *
   * @defaultValue 'warn'
   */
  below?: (typeof heldSeverities)[number] | undefined
  /**
   * What events are held and released together. `'trace'`: the events with the same `trace_id`. Events without one are
   * shipped at once.
   *
   * @defaultValue 'trace'
   */
  per?: 'trace' | undefined
  /**
   * An event of this severity or a higher one releases the held events of its trace: `'debug'`, `'info'`, `'warn'`,
   * `'error'` or `'fatal'`.
   *
   * @defaultValue 'error'
   */
  trigger?: (typeof heldSeverities)[number] | undefined
  /**
   * Maximum number of held events, of all traces together. Integer, 1 to 100 000. When it is reached, the oldest held
   * events are dropped and counted: a 64th of the maximum at once, or one if that is less than two.
   *
   * @defaultValue 5000
   */
  maxEvents?: number | undefined
  /**
   * Maximum memory for held events, of all traces together, in bytes. Integer, at least 1 024, up to a quarter of
   * `maxBufferedBytes`. When it is reached, the oldest held events are dropped and counted, a 64th of the maximum at once.
   *
   * Held events take part of `maxBufferedBytes`: their JSON, and 256 bytes for each.
   *
   * @defaultValue 4194304, or a quarter of `maxBufferedBytes` if that is less
   */
  maxBytes?: number | undefined
  /**
   * Maximum age of a held event, in milliseconds. Integer, 100 to 3 600 000. An older event is dropped and counted. So
   * long after a trigger, events of its trace are held again.
   *
   * @defaultValue 60000
   */
  maxAgeMs?: number | undefined
}

/** The definition of each of `HoldOptions`. */
export const holdOptions = {
  below: word(heldSeverities, { default: 'warn', summary: 'events below this severity are held' }),
  per: word(['trace'], { default: 'trace', summary: 'events that are held and released together' }),
  trigger: word(heldSeverities, { default: 'error', summary: 'severity of an event that releases its trace' }),
  maxEvents: integer({ min: 1, max: 100_000, unit: 'events', default: 5000, summary: 'maximum number of held events' }),
  maxBytes: integer({
    min: 1024,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    default: 4_194_304,
    summary: 'maximum memory for held events; at most a quarter of `maxBufferedBytes`',
  }),
  maxAgeMs: integer({
    min: 100,
    max: 3_600_000,
    unit: 'milliseconds',
    default: 60_000,
    summary: 'maximum age of a held event',
  }),
} satisfies DefinitionsOf<HoldOptions>

export interface ResolvedHold {
  readonly below: SeverityName
  readonly trigger: SeverityName
  readonly maxEvents: number
  readonly maxBytes: number
  readonly maxAgeMs: number
}
