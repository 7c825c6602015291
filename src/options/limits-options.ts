import * as v from 'valibot'
import { AccessTokenSchema, OrgIdSchema, OverflowFieldSchema } from './checks.ts'
import type { ObtainAccessToken } from './obtain-access-token.ts'
import { type DefinitionsOf, integer, option, word } from './option.ts'
import type { RedisClient } from './redis-client.ts'
import { strictObject } from './strict-object.ts'

/**
 * Options for license tuning: `limits` of a shipper. `undefined` means the default. Unknown names throw a `TypeError`.
 */
export interface LimitsOptions {
  /**
   * Id of the organization whose license is read. Visible ASCII characters, no spaces.
   *
   * @defaultValue `orgId` of the shipper, or the environment variable `LOGFERRY_ORG_ID`; without them, required
   */
  orgId?: string | undefined
  /**
   * Access token from an OAuth 2.0 flow that may read the organization, or a function that obtains one. Visible ASCII
   * characters, no spaces.
   *
   * The function is called when the license is first read. It is called again, once for each read, if the service
   * answers 401 or 403.
   *
   * @defaultValue the token of the shipper
   */
  accessToken?: string | ObtainAccessToken | undefined
  /**
   * Share of this process in the license: in the requests per second, and in the monthly ingest. Above 0, up to 1.
   *
   * @defaultValue 1
   */
  share?: number | undefined
  /**
   * Interval between reads of the license, in milliseconds. Integer, 1 000 to 86 400 000. The interval is longer if reads
   * would use more than a tenth of the requests that the license allows.
   *
   * @defaultValue 3600000
   */
  refreshMs?: number | undefined
  /**
   * Reaction when the monthly ingest will run out before the billing period ends. `'warn'` warns. `'shed'` warns and
   * samples events: the least severe first, errors never. Kept events of a sample have the field
   * `logferry.sampling_rate`.
   *
   * @defaultValue 'warn'
   */
  onBudget?: 'warn' | 'shed' | undefined
  /**
   * Name of the field for surplus fields. 1 to 200 characters; not a name that `fields.overflowField` excludes. If both
   * options are set, they must have the same name.
   *
   * If a new field would exceed the license's `maxFields` for the dataset, it goes into this field, as a text of JSON.
   *
   * @defaultValue 'overflow'
   */
  overflowField?: string | undefined
  /**
   * Shares the license's requests per second with other processes through Redis (5 or later), by demand. One call every
   * five seconds reports the demand of this process, and returns the requests that it may make. One process reads the
   * license for all.
   *
   * `redis` is a client of `ioredis` or `redis` (node-redis). The application creates and closes it. All processes that
   * share must use the same `orgId`.
   *
   * @defaultValue none: each process reads the license and adapts its rate by itself
   */
  fleet?: { readonly redis: RedisClient } | undefined
}

const expectedShare = 'a number above 0, up to 1'

const FleetSchema = strictObject(
  { redis: v.custom<RedisClient>(isRedisClient, 'a client of ioredis or redis') },
  'an object: { redis }',
)

/** True if a value has the method of ioredis (`call`) or of redis (`sendCommand`). */
function isRedisClient(value: unknown): boolean {
  const client = value as { call?: unknown; sendCommand?: unknown } | null | undefined
  return typeof client?.call === 'function' || typeof client?.sendCommand === 'function'
}

/** The definition of each of `LimitsOptions`. */
export const limitsOptions = {
  orgId: option({
    check: OrgIdSchema,
    isSecret: true,
    values: 'string',
    defaultText: '`orgId` of the shipper',
    summary: 'id of the organization whose license is read',
  }),
  accessToken: option({
    check: AccessTokenSchema,
    isSecret: true,
    values: 'string or function',
    defaultText: 'the token of the shipper',
    summary: 'access token that may read the organization, or a function that obtains one',
  }),
  share: option({
    check: v.pipe(v.number(expectedShare), v.gtValue(0, expectedShare), v.maxValue(1, expectedShare)),
    values: 'above 0, up to 1',
    default: 1,
    summary: 'share of this process in the license',
  }),
  refreshMs: integer({
    min: 1000,
    max: 86_400_000,
    unit: 'milliseconds',
    default: 3_600_000,
    summary: 'interval between reads of the license',
  }),
  onBudget: word(['warn', 'shed'], {
    default: 'warn',
    summary: 'reaction when the [monthly ingest](license-limits.md#monthly-ingest) will run out: `shed` samples events',
  }),
  overflowField: option({
    check: OverflowFieldSchema,
    values: 'string',
    default: 'overflow',
    summary: 'name of the field for fields beyond the `maxFields` of the license, as a text of JSON',
  }),
  fleet: option({
    check: FleetSchema,
    values: '`{ redis }`',
    summary:
      'shares the license with other processes, see [Several processes](license-limits.md#several-processes-on-one-license)',
  }),
} satisfies DefinitionsOf<LimitsOptions>
