import type { MeterProvider } from './meter-provider.ts'
import { custom, type DefinitionsOf, flag } from './option.ts'

/** Options about what can be known of events: metrics, and an identity for each event. */
export interface AccountingOptions {
  /**
   * An OpenTelemetry `MeterProvider` (`@opentelemetry/api` 1.4 or later), for metrics of queue, requests and losses by
   * the semantic conventions. A value without a method `getMeter` throws a `TypeError`.
   *
   * The values are read when metrics are collected, so that log calls take no longer.
   *
   * @defaultValue none: no metrics; `stats()` has the same numbers
   */
  meterProvider?: MeterProvider | undefined
  /**
   * Gives each event a `log.record.uid`: a part that is unique to the shipper, a hyphen, and a sequence number without
   * gaps. Duplicates can then be removed downstream, and `logferry audit` finds lost events.
   *
   * An event that has a `log.record.uid`, at the root or in the attributes of an OpenTelemetry record, keeps its own.
   *
   * @defaultValue false
   */
  identify?: boolean | undefined
}

/** The definition of each of `AccountingOptions`. */
export const accountingOptions = {
  meterProvider: custom<MeterProvider>({
    accepts: value => typeof (value as MeterProvider | null)?.getMeter === 'function',
    expected: 'a MeterProvider of @opentelemetry/api (an object with a getMeter method)',
    values: 'OpenTelemetry `MeterProvider`',
    summary: 'metrics of queue, requests and losses, see [Metrics](metrics.md)',
  }),
  identify: flag({ default: false, summary: 'gives each event a `log.record.uid`, see [Receipts](receipts.md)' }),
} satisfies DefinitionsOf<AccountingOptions>
