import type { ShapeName } from './shapes.ts'
import type { TextKind } from './text.ts'

/** When the log calls are made. */
export type Mode =
  /** So many at a time, then a turn of the event loop, as fast as it goes. */
  | { readonly kind: 'chunks'; readonly perTurn: number }
  /** All in one turn of the event loop. */
  | { readonly kind: 'burst' }
  /** So many a second, in small groups every few milliseconds. */
  | { readonly kind: 'paced'; readonly perSecond: number }
  /** The same, while the event loop never sleeps: each of its turns is timed. */
  | { readonly kind: 'watched'; readonly perSecond: number }

/** What one process logs, and what meets it. */
export interface Load {
  readonly mode: Mode
  readonly events: number
  /** Logged and delivered before anything is measured. */
  readonly warmUpEvents: number
  readonly eventBytes: number
  readonly text: TextKind
  /** Events of another shape, in place of those of `eventBytes` and `text`. */
  readonly shape?: ShapeName
  /** Loggers that take turns, on one shipper. */
  readonly loggers: number
  /** How long the receiver holds back an answer, in milliseconds. */
  readonly answerDelayMs: number
}

export const ordinaryLoad: Load = {
  mode: { kind: 'chunks', perTurn: 1000 },
  events: 200_000,
  warmUpEvents: 20_000,
  eventBytes: 400,
  text: 'compressible',
  loggers: 1,
  answerDelayMs: 0,
}
