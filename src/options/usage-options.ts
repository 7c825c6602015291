import { type DefinitionsOf, flag, optionalInteger } from './option.ts'

/** Options for the count of bytes by log statement. They are options of a shipper. */
export interface UsageOptions {
  /**
   * Counts events and bytes by log statement, for `usage()` and for warnings about the monthly ingest. Takes 0.06
   * to 0.23 µs within a log call, and less than 256 KB of memory. With `false`, `usage()` counts nothing.
   *
   * @defaultValue true
   */
  countUsage?: boolean | undefined
  /**
   * Interval at which the log statements with most bytes are shipped as one event, in milliseconds. Integer, 1 000 to
   * 86 400 000. `close()` ships the last of these events.
   *
   * The event goes to the dataset of the shipper. If `dataset` is a function, it goes to the dataset with most bytes.
   * `countUsage: false` beside this option throws a `RangeError`.
   *
   * @defaultValue none: the shipper ships no such event
   */
  reportUsageEveryMs?: number | undefined
}

/** The definition of each of `UsageOptions`. */
export const usageOptions = {
  countUsage: flag({ default: true, summary: 'counts events and bytes by log statement' }),
  reportUsageEveryMs: optionalInteger({
    min: 1000,
    max: 86_400_000,
    unit: 'milliseconds',
    summary: 'interval at which the log statements with most bytes are shipped as one event',
  }),
} satisfies DefinitionsOf<UsageOptions>
