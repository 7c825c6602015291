import { firstValue } from '../http/header.ts'

/** What an answer says of the service's limit on requests; each is left out where nothing usable is said. */
export interface RateLimit {
  readonly limitPerSecond?: number
  /** Requests that a whole window takes. */
  readonly limit?: number
  /** Requests that what is left of the window still takes. */
  readonly remaining?: number
  /** Time until the next window begins, in milliseconds. */
  readonly resetMs?: number
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** A reset further away than this cannot be that of a one-second window: both clocks may be off by a rounded second. */
const farResetMs = 3000
const farWindowMs = 60_000
/** Characters of a header that are read: enough for several policies. */
const maxHeaderChars = 1000

/**
 * Reads the rate-limit headers of an answer: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (seconds since the epoch, or
 * until then), the same names without `X-`, and the `RateLimit` and `RateLimit-Policy` of the IETF's draft.
 *
 * Unless a policy names its window, the limit holds for a minute where the reset is that far away (as the public service
 * has it), else for a second.
 *
 * @param nowEpochMs our clock; the `Date` of the answer goes before it, for the reset was read off the same clock
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function rateLimitIn(headers: Headers, nowEpochMs: number): RateLimit {
  const read = (name: string, parameter: string) =>
    count(headers[`x-ratelimit-${name}`]) ??
    count(headers[`ratelimit-${name}`]) ??
    count(parameterIn(headers.ratelimit, `${name}|${parameter}`))
  const policy = headers['ratelimit-policy']
  const limit = read('limit', 'limit') ?? count(parameterIn(policy, 'q'))
  const remaining = read('remaining', 'r')
  const resetMs = untilMs(read('reset', 't'), first(headers.date), nowEpochMs)
  const windowSeconds = count(parameterIn(policy, 'w'))
  const windowMs = windowSeconds ? windowSeconds * 1000 : windowOf(resetMs)
  return {
    ...(limit && { limit }),
    ...(limit && windowMs && { limitPerSecond: (limit / windowMs) * 1000 }),
    ...(remaining !== undefined && { remaining }),
    ...(resetMs !== undefined && { resetMs }),
  }
}

function windowOf(resetMs: number | undefined): number | undefined {
  if (resetMs === undefined) return undefined
  return resetMs > farResetMs ? farWindowMs : 1000
}

/** A reset of more than a year is a moment, not a duration. One that is hours away is no window of requests. */
function untilMs(reset: number | undefined, date: string | undefined, nowEpochMs: number): number | undefined {
  if (reset === undefined) return undefined
  const serverNowMs = Date.parse(date ?? '')
  const nowMs = Number.isNaN(serverNowMs) ? nowEpochMs : serverNowMs
  const ms = reset < 31_536_000 ? reset * 1000 : Math.max(reset * 1000 - nowMs, 0)
  return ms <= 3_600_000 ? ms : undefined
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
