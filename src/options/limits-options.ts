import type { RedisClient } from '../org/fleet.ts'
import type { ObtainAccessToken } from './obtain-access-token.ts'

/** Options that turn license tuning on: `limits` of a shipper. `undefined` means the default. */
export interface LimitsOptions {
  /**
   * Id of the organization whose license is read.
   *
   * @defaultValue `orgId` of the shipper, or the environment variable `LOGFERRY_ORG_ID`; without them, required
   */
  orgId?: string | undefined
  /**
   * Access token from an OAuth 2.0 flow that may read the organization, or a function that obtains one; it is asked again
   * once after a 403.
   *
   * @defaultValue the token of the shipper is tried
   */
  accessToken?: string | ObtainAccessToken | undefined
  /**
   * This process's part of what the license allows: of the requests per second and of the monthly ingest. Above 0, up to 1.
   *
   * @defaultValue 1
   */
  share?: number | undefined
  /**
   * How often the license is read again, in milliseconds. Integer, 1 000 to 86 400 000.
   *
   * @defaultValue 3600000
   */
  refreshMs?: number | undefined
  /**
   * What happens when the monthly ingest will not last at the present pace: `'warn'` says so; `'shed'` also samples
   * events, the least severe first and errors never. Events that are kept then carry `logferry.sampling_rate`.
   *
   * @defaultValue 'warn'
   */
  onBudget?: 'warn' | 'shed' | undefined
  /**
   * Name of the field that takes, as a text with JSON in it, the fields for which the dataset has no room under the
   * license's `maxFields`. 1 to 200 characters.
   *
   * @defaultValue 'overflow'
   */
  overflowField?: string | undefined
  /**
   * Shares the license's requests per second with other processes through Redis (5 or later), by what each of them needs:
   * one call every five seconds tells what a process could use, and brings the requests that are its own. One process reads
   * the license for all. Without it each process adapts by itself, and reads the license itself. `redis` is a client of
   * `ioredis` or of `redis` (node-redis) that the application has made, and closes. All that share must name the same `orgId`.
   *
   * @defaultValue none
   */
  fleet?: { readonly redis: RedisClient } | undefined
}
