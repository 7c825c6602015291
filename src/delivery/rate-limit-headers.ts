import { firstValue } from '../http/header.ts'
import { httpDateMs } from '../http/http-date.ts'

/** The service's limit on requests, as an answer names it. A property is absent if the answer says nothing usable. */
export interface RateLimit {
  readonly limitPerSecond?: number
  /** Number of requests allowed in a whole window. */
  readonly limit?: number
  /** Number of requests still allowed in the present window. */
  readonly remaining?: number
  /** Time until the next window begins, in milliseconds. */
  readonly resetMs?: number
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Maximum time to the reset of a one-second window, in milliseconds: both clocks may be off by a rounded second. */
const farResetMs = 3000
const farWindowMs = 60_000
/** Maximum window of requests, in milliseconds: a quota of a day is no pace for the events of a busy minute. */
const maxWindowMs = 3_600_000
/** Maximum number of characters that are read of a header: enough for several policies. */
const maxHeaderChars = 1000

/**
 * Reads the rate-limit headers of an answer: `X-RateLimit-Limit`, `-Remaining` and `-Reset`, the same names without
 * `X-`, and `RateLimit` and `RateLimit-Policy` of the IETF's draft. A reset is in seconds since the epoch, or in
 * seconds from now.
 *
 * A policy may name its window. Without one, the limit counts per minute if the reset is more than three seconds away,
 * as in a similar public service. Otherwise it counts per second.
 *
 * @param nowEpochMs time of the local clock; the `Date` of the answer takes precedence, because the reset was read off
 *   the same clock
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function rateLimitIn(headers: Headers, nowEpochMs: number): RateLimit {
  const read = (name: string, parameter: string) =>
    count(headers[`x-ratelimit-${name}`]) ??
    count(headers[`ratelimit-${name}`]) ??
    count(parameterIn(headers.ratelimit, `${name}|${parameter}`))
  const given = first(headers['ratelimit-policy'])
  const policy = given !== undefined && otherUnit.test(given) ? undefined : given
  const limit = read('limit', 'limit') ?? count(parameterIn(policy, 'q'))
  const remaining = read('remaining', 'r')
  const resetMs = untilMs(read('reset', 't'), first(headers.date), nowEpochMs)
  const windowSeconds = count(parameterIn(policy, 'w'))
  const windowMs = windowSeconds ? windowSeconds * 1000 : windowOf(resetMs)
  return {
    ...(limit && { limit }),
    ...(limit && windowMs && windowMs <= maxWindowMs && { limitPerSecond: (limit / windowMs) * 1000 }),
    ...(remaining !== undefined && { remaining }),
    ...(resetMs !== undefined && { resetMs }),
  }
}

/** The unit of a policy that does not count requests: of bytes, or of concurrent requests. */
const otherUnit = /[;\s]qu=(?!"?requests"?(?:$|[;,\s]))/

function windowOf(resetMs: number | undefined): number | undefined {
  if (resetMs === undefined) return undefined
  return resetMs > farResetMs ? farWindowMs : 1000
}

/**
 * A reset of a year or more, in seconds, is a point in time, not a duration. A reset more than an hour away is not that
 * of a request window.
 */
function untilMs(reset: number | undefined, date: string | undefined, nowEpochMs: number): number | undefined {
  if (reset === undefined) return undefined
  const serverNowMs = httpDateMs(date ?? '')
  const nowMs = Number.isNaN(serverNowMs) ? nowEpochMs : serverNowMs
  const ms = reset < 31_536_000 ? reset * 1000 : Math.max(reset * 1000 - nowMs, 0)
  return ms <= maxWindowMs ? ms : undefined
}

function parameterIn(header: string | string[] | undefined, names: string): string | undefined {
  return new RegExp(`(?:^|[;,\\s])(?:${names})=(\\d{1,15})(?=$|[;,\\s])`).exec(first(header) ?? '')?.[1]
}

function count(header: string | string[] | undefined): number | undefined {
  const digits = /^\s*(\d{1,15})(?=$|[\s,;])/.exec(first(header) ?? '')?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function first(header: string | string[] | undefined): string | undefined {
  return firstValue(header)?.slice(0, maxHeaderChars)
}
