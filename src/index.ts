/** The core: one shipper, shared by any number of loggers. Loads no logging library. */

export type { DatasetStats } from './accounting/dataset-totals.ts'
export type {
  Attempted,
  Delivered,
  DiagnosticListeners,
  Paused,
  Rejected,
  Retried,
  Spooled,
  Warning,
} from './accounting/diagnostics.ts'
export type { DropReason } from './accounting/drop-reasons.ts'
export type { Dropped, DropsBySeverity } from './accounting/ledger.ts'
export type { SeverityName } from './accounting/severity.ts'
export type { ErrorCode, InvalidOption } from './errors.ts'
export type { FieldUsage } from './fields/field-rules.ts'
export type { FieldType, TypeChange, ValueLikeNames } from './fields/field-watch.ts'
export type { Dispatcher } from './http/dispatcher.ts'
export type { Encoding } from './http/encodings.ts'
export type { AccountingOptions } from './options/accounting-options.ts'
export type { BaseUrl, Region } from './options/base-url.ts'
export type { FieldsOptions } from './options/fields-options.ts'
export type { LimitsOptions } from './options/limits-options.ts'
export type { MeterProvider } from './options/meter-provider.ts'
export type { CollapseOptions, HoldOptions } from './options/noise-options.ts'
export type { ObtainAccessToken } from './options/obtain-access-token.ts'
export type { ProxyEnv } from './options/proxy-env.ts'
export type { CensorFunction, RedactOptions } from './options/redact-options.ts'
export type { IoredisClient, NodeRedisClient, RedisClient } from './options/redis-client.ts'
export type { SampleFunction, SampleOptions, SampleRates, ShapingOptions } from './options/shaping-options.ts'
export type { ShipperOptions } from './options/shipper-options.ts'
export type { SpoolOptions } from './options/spool-options.ts'
export type { Pem, TlsOptions } from './options/tls-options.ts'
export type { UsageOptions } from './options/usage-options.ts'
export type { LimitsStats } from './org/limits.ts'
export { NotConfirmedError } from './shipper/not-confirmed-error.ts'
export { createShipper, type FlushResult, type Shipper } from './shipper/shipper.ts'
export type { ShipperStats } from './shipper/shipper-stats.ts'
export type { SpoolStats } from './shipper/spool-coordinator.ts'
export type { ShipperUsage } from './shipper/usage-of.ts'
export type { StatementUsage, Usage, UsageCount } from './usage/usage.ts'
