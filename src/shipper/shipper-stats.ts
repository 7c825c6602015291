import type { DatasetStats } from '../accounting/dataset-totals.ts'
import type { DropReason } from '../accounting/drop-reasons.ts'
import type { DropsBySeverity } from '../accounting/ledger.ts'
import type { SeverityName } from '../accounting/severity.ts'
import type { Encoding } from '../http/encodings.ts'
import type { LimitsStats } from '../org/limits.ts'
import type { SpoolStats } from './spool-coordinator.ts'

/** A snapshot of a shipper's counters and state. At every moment accepted = delivered + dropped + pending. */
export interface ShipperStats {
  /** Events that were logged, including events dropped in their log calls, and events adopted from the spool. */
  readonly accepted: number
  /** Events that the service has accepted. */
  readonly delivered: number
  /** Events that were given up; `drops` gives the reasons. */
  readonly dropped: number
  /**
   * Events that wait or are in flight, including events that were handed off to the spool, and held events.
   */
  readonly pending: number
  /** Pending events that wait for an error of their trace (option `hold`). A flush does not wait for them. */
  readonly held: number
  /** Dropped events by reason, then by severity. */
  readonly drops: Partial<Record<DropReason, DropsBySeverity>>
  /**
   * The events of each dataset, by its name: at most 1,000 datasets. Datasets with pending events come first, then the
   * datasets that were active last. The counts of a dataset begin anew if more than 1,000 others were active since.
   *
   * Events that were dropped inside their log calls are in `drops` only, and so are events whose dataset is unknown.
   */
  readonly datasets: Readonly<Record<string, DatasetStats>>
  /** Events with a value that JSON cannot represent. A text in its place says so. */
  readonly stubbed: number
  /**
   * Events that were cut to `maxEventBytes`, or to the time that a log call may take. An event also counts if its
   * OpenTelemetry resource and scope were omitted, because they take more than a quarter of `maxEventBytes`.
   */
  readonly cut: number
  /** Requests that were started. */
  readonly requests: number
  /** Requests that sent events again. */
  readonly retries: number
  /** Requests that are not answered yet. */
  readonly requestsInFlight: number
  /** Bytes of request bodies as sent, after compression. A request counts when it ends. */
  readonly bytesOnWire: number
  /** Memory held for pending events, in bytes; never more than `maxBufferedBytes`. */
  readonly bufferedBytes: number
  /** The compression in use. It differs from the option if the service does not accept that. */
  readonly compression: Encoding
  /** Maximum requests per second at present; `Infinity` if there is no limit. */
  readonly requestsPerSecond: number
  /** Number of shippers on this machine that agree on their request rate (option `rateDirectory`), this one included. */
  readonly rateSharers: number
  /**
   * Maximum bytes of a batch at present, before compression.
   *
   * More than configured while the request rate is limited. More than the default if the option is not set and more
   * than 40 MB/s are logged. Less after the service has answered 413 to larger batches.
   */
  readonly maxBatchBytes: number
  /**
   * Maximum age of a batch at present, in milliseconds. It is 0 while the request rate is limited so that a dataset's
   * turn comes only after more than half of the configured age. A batch is then sent when its turn comes.
   */
  readonly maxBatchAgeMs: number
  /** The minimum severity of events that are shipped at present. */
  readonly minSeverity: SeverityName
  /** The license limits in force, and their reason; `undefined` without the option `limits`. */
  readonly limits: LimitsStats | undefined
  /** The state of the spool; `undefined` without the option `spool`. */
  readonly spool: SpoolStats | undefined
}
