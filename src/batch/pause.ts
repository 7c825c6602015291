/**
 * The pause of a dataset: the service refuses its token, name or address, or every event. The batches of the dataset are
 * held back until the cause is fixed.
 *
 * - A batch is **blocked** if an answer such as 403 or 404 refuses it, whatever its events are. A blocked batch pauses its
 *   dataset. So do many refused pieces in a row (`Refusals.mustPause`), and a 415 for an uncompressed batch.
 * - A dataset is **paused** until the service accepts a batch of it, or objects to a batch in another way.
 * - A paused dataset is **waiting** if it sends nothing until `untilMs`. Its next batch is a probe.
 * - A paused dataset is **probing** while its probe is in flight. The probe finds out if the service accepts the dataset
 *   again, and the other batches wait for the outcome. If the outcome says nothing about the dataset, the next probe is due.
 */
export type Pause = PauseCause & (Waiting | Probing)

/** Why a dataset is paused. */
export interface PauseCause {
  /** Number of times in a row that the service has refused the dataset. */
  readonly refusals: number
  /** HTTP status of the last refusal. */
  readonly status: number
  /** The service's reason for the last refusal. */
  readonly reason: string
  /** True if some of the events may be the reason, and not the path to the service. */
  readonly mayBeForEvents: boolean
  /** Maximum size of the next probe, in bytes, at least one event: larger ones were blocked. `undefined` for no maximum. */
  readonly maxProbeBytes: number | undefined
}

interface Waiting {
  readonly kind: 'waiting'
  /** Monotonic time of the next probe, in milliseconds. */
  readonly untilMs: number
}

interface Probing {
  readonly kind: 'probing'
  /** Start of the probe; monotonic, in milliseconds. */
  readonly startedAtMs: number
}
