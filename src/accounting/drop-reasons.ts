import { ownProperties } from '../own-properties.ts'

/** The reason for which an event was dropped. */
export type DropReason =
  /** Memory was full (for events of this severity). */
  | 'memory'
  /** The service refused the event. */
  | 'rejected'
  /** The service refused the event for its size (413), alone in a request. */
  | 'too-large'
  /** `close()` or the end of the process could not wait any longer. */
  | 'closed'
  /** The `dataset` function threw, or returned no usable name. */
  | 'dataset'
  /** The spool had reached its `maxBytes`; the oldest events are dropped first. */
  | 'spool-full'
  /** The event in the spool is damaged, gone, or not of logferry. */
  | 'spool-damaged'
  /** The event could not be redacted, because the function `redact.censor` failed. */
  | 'redact'
  /** The event was sampled away so that the license's monthly ingest lasts (`limits.onBudget: 'shed'`). */
  | 'budget'
  /** The `transform` function returned no event. */
  | 'transform'
  /** The event was sampled away by the option `sample`. */
  | 'sample'
  /** The event repeated another, and a summary counts it (`collapse`). */
  | 'collapsed'
  /** The event was held, and its trace logged no error in time (`hold`). */
  | 'untriggered'
  /** The OpenTelemetry record came after its processor or exporter was shut down. */
  | 'shut-down'
  /**
   * The runtime failed, for example for lack of memory. Also if log calls within log calls had no end, or if the format
   * or a subclass of the Winston transport threw.
   */
  | 'error'

/** The meaning of a reason for the events that are dropped for it. */
interface DropFacts {
  /** True if events are dropped for it at the intake, before they are in a batch. */
  readonly isAtIntake?: true
  /** True if the application has asked for the drop, by its options. */
  readonly isIntended?: true
  /** True if the service refused the event. */
  readonly isRefused?: true
  /** The `error.type` that the semantic conventions for metrics prescribe for such a drop. */
  readonly errorType?: 'queue_full' | 'already_shutdown'
}

const factsOf = {
  memory: { isAtIntake: true, errorType: 'queue_full' },
  rejected: { isRefused: true },
  'too-large': { isRefused: true },
  closed: {},
  dataset: { isAtIntake: true },
  'spool-full': { errorType: 'queue_full' },
  'spool-damaged': {},
  redact: { isAtIntake: true },
  budget: { isAtIntake: true, isIntended: true },
  transform: { isAtIntake: true, isIntended: true },
  sample: { isAtIntake: true, isIntended: true },
  collapsed: { isAtIntake: true, isIntended: true },
  untriggered: { isAtIntake: true, isIntended: true },
  'shut-down': { isAtIntake: true, errorType: 'already_shutdown' },
  error: { isAtIntake: true },
} as const satisfies Record<DropReason, DropFacts>

export const dropReasons = Object.keys(factsOf) as readonly DropReason[]
const facts = new Map<DropReason, DropFacts>(dropReasons.map(reason => [reason, ownProperties(factsOf[reason])]))

/** A reason for which events are dropped before they are in a batch. */
export type IntakeDropReason = {
  [Reason in DropReason]: (typeof factsOf)[Reason] extends { isAtIntake: true } ? Reason : never
}[DropReason]

export const intakeDropReasons = dropReasons.filter(
  (reason): reason is IntakeDropReason => facts.get(reason)?.isAtIntake === true,
)

/** True if the application has asked for the drop, by its options. Such a drop fails no OpenTelemetry export. */
export function isIntended(reason: DropReason): boolean {
  return facts.get(reason)?.isIntended === true
}

/** True if the service refused the event, for its content or its size. */
export function isRefused(reason: DropReason): boolean {
  return facts.get(reason)?.isRefused === true
}

/** Returns the `error.type` of a drop in metrics: as the semantic conventions prescribe, or the reason with underscores. */
export function errorTypeOfDrop(reason: DropReason): string {
  return facts.get(reason)?.errorType ?? reason.replaceAll('-', '_')
}
