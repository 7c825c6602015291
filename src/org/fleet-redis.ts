import { withoutTracing } from '../http/without-tracing.ts'
import type { RedisClient } from '../options/redis-client.ts'
import { fleetScript } from './fleet-script.ts'
import { type Arc, wholeCircle } from './slots.ts'

/** The report that a process sends about itself with each call. */
export interface Report {
  /**
   * Demand of the process, in requests per second. `neededPerSecond` is enough to lose no event; `wantedPerSecond` sends
   * each event as soon as it is due.
   */
  readonly neededPerSecond: number
  readonly wantedPerSecond: number
  /** Arcs that the process holds. */
  readonly arcs: readonly Arc[]
  /** Number of places of the circle, as the last answer named it; 1 before the first answer. */
  readonly turns: number
  /** `bornMs` of the last answer; 0 before the first answer. */
  readonly bornMs: number
  /**
   * Limit that the process knows, in requests per second; 0 if nothing is to be shared. While it is `undefined`, the limit
   * counts that other processes have reported.
   */
  readonly limitPerSecond: number | undefined
  /** Limit that the headers of the answers to the process name, in requests per second. */
  readonly headerLimit: number | undefined
  /** Time since the last answer that named that limit, in milliseconds. */
  readonly headerAgeMs: number
  /** License that the process has read for all processes, as JSON. */
  readonly license: string | undefined
  /** Version of the license that the process knows: `licenseVersion` of an earlier answer. */
  readonly licenseVersion: string
  /** True if the process offers to read the license, unless another process reads it. */
  readonly wouldRead: boolean
  /** True if the process asks for one request besides its slots. */
  readonly isGuest: boolean
  /** Number of requests per second up to which a process asks for each of them, in place of slots of its own. */
  readonly rarePerSecond: number
  /**
   * True if the process has something to send, and the service has taken no request of the process since it joined. Also if
   * the last one was more than a round of turns ago.
   */
  readonly isUrgent: boolean
  /** True if the process has something to send, and no request besides its slots is to come. */
  readonly wantsMore: boolean
}

/** The answer of Redis to a report. */
export interface Share {
  /** Time by the clock of Redis, in milliseconds since 1970. */
  readonly nowMs: number
  /** Delay until the next call, in milliseconds. */
  readonly renewInMs: number
  readonly arcs: readonly Arc[]
  /** Arcs of no process, which this one alone may use while Redis is away. */
  readonly spareArcs: readonly Arc[]
  /** Distance on the circle between the points of two consecutive slots. */
  readonly stride: number
  /**
   * Number of places of the circle, each of which has its turn once in a round. 1 if there are no turns: only so many processes
   * have turns that each has to wait for seconds until its own comes.
   */
  readonly turns: number
  /** Time from which the arcs count, in milliseconds since 1970 by the clock of Redis. The previous ones count until then. */
  readonly sinceMs: number
  /**
   * Time at which Redis began to count the processes, in milliseconds since 1970 by its clock. Another one if Redis has lost its
   * data since.
   */
  readonly bornMs: number
  /** Time of the one request besides the slots, in milliseconds since 1970 by the clock of Redis. */
  readonly guestMs: number | undefined
  /** Limit that the headers of the answers to any process name, in requests per second. */
  readonly headerLimit: number | undefined
  /**
   * Time at which the license was stored, in milliseconds since 1970 by the clock of Redis; `'0'` if no license is
   * stored.
   */
  readonly licenseVersion: string
  /** The license as JSON, if its version differs from the version in the report. */
  readonly license: string | undefined
  /** True if this process is to read the license. */
  readonly mayRead: boolean
}

/**
 * Maximum number of arcs of one process, which the script enforces too, and maximum length of a license in characters.
 */
const maxArcs = 128
const maxLicenseChars = 65_536
/** Maximum number of places of the circle. The script has no more, as it counts 100,000 processes at most. */
const maxTurns = 131_072
/** The years 2001 to 2286, in milliseconds since 1970. A clock that is set shows no other time. */
const minEpochMs = 1e12
const maxEpochMs = 1e13
/** A request that is allowed besides the slots is allowed within this time, in milliseconds. */
const maxGuestWaitMs = 600_000
/** Every lease is shorter than this, in milliseconds. */
const maxRenewMs = 60_000
/** Minimum delay between two calls, in leases. The script asks for no shorter one. */
const minRenewPart = 0.1
/** Maximum delay until the arcs of an answer count, in leases. The script names no longer one. */
const maxStartPart = 0.1

/**
 * The processes that share a limit, as Redis stores them under `{logferry:fleet:<key>}:members` and `:state`. The
 * braces keep both keys on one server of a cluster.
 */
export class Register {
  readonly #redis: RedisClient
  readonly #keys: string[]
  readonly #leaseMs: number

  /** @param leaseMs duration of a lease, in milliseconds; the same in all processes */
  constructor(redis: RedisClient, key: string, leaseMs: number) {
    this.#redis = redis
    this.#keys = ['members', 'state'].map(name => `{logferry:fleet:${key}}:${name}`)
    this.#leaseMs = leaseMs
  }

  /** @throws Error if Redis cannot be asked, or if its answer is invalid */
  async renew(id: string, report: Report): Promise<Share> {
    const { arcs, limitPerSecond, headerLimit, license, licenseVersion, wouldRead, isGuest } = report
    const answer = await this.#run(
      id,
      'renew',
      decimal(report.neededPerSecond),
      decimal(report.wantedPerSecond),
      arcs.map(([from, to]) => `${from}-${to}`).join(' '),
      limitPerSecond === undefined ? '' : decimal(limitPerSecond),
      headerLimit !== undefined && isRate(headerLimit) ? decimal(headerLimit) : '',
      license !== undefined && license.length <= maxLicenseChars ? license : '',
      licenseVersion,
      wouldRead ? '1' : '',
      isGuest ? '1' : '',
      decimal(report.rarePerSecond),
      report.isUrgent ? '1' : '',
      decimal(report.headerAgeMs),
      String(report.turns),
      report.wantsMore ? '1' : '',
      String(report.bornMs),
    )
    const [
      nowMs,
      renewInMs,
      distance,
      guestMs,
      header,
      version,
      sent,
      mayRead,
      held,
      spare,
      turns,
      since,
      born,
    ]: readonly unknown[] = Array.isArray(answer) ? answer : []
    const at = integerIn('time', nowMs, minEpochMs, maxEpochMs)
    const stride = integerIn('slot distance', distance, 1, wholeCircle - 1)
    const guestAtMs = integerIn('guest time', guestMs, 0, at + maxGuestWaitMs)
    return {
      nowMs: at,
      renewInMs: integerIn('renewal time', renewInMs, Math.floor(minRenewPart * this.#leaseMs), maxRenewMs),
      arcs: arcsIn(held),
      spareArcs: arcsIn(spare),
      stride,
      turns: integerIn('number of turns', turns, 1, maxTurns),
      sinceMs: integerIn('start', since, at, at + maxStartPart * this.#leaseMs),
      bornMs: integerIn('birth', born, 0, maxEpochMs),
      guestMs: guestAtMs === 0 ? undefined : guestAtMs,
      headerLimit: header === '' ? undefined : rateIn(header),
      licenseVersion: String(integerIn('license time', version, 0, maxEpochMs)),
      license: textIn('license', sent, maxLicenseChars) || undefined,
      mayRead: integerIn('read permission', mayRead, 0, 1) === 1,
    }
  }

  /** Returns the arcs of a process immediately. The process must not use them any more. */
  async leave(id: string): Promise<void> {
    await this.#run(id, 'leave')
  }

  /** Runs the script without a span: it is a call of this package, as its requests to the service are. */
  #run(id: string, action: 'renew' | 'leave', ...report: string[]): Promise<unknown> {
    return withoutTracing(() => this.#runScript([id, action, String(this.#leaseMs), ...report]))
  }

  /** Runs the script by its hash. Sends the script itself, of some 36 KB, only if Redis does not have it. */
  async #runScript(args: string[]): Promise<unknown> {
    if (this.#hasHashes) {
      try {
        return await this.#runByHash(await fleetScriptHash(), args)
      } catch (error) {
        if (!String((error as Error | null)?.message).startsWith('NOSCRIPT')) throw error
      }
    }
    if ('call' in this.#redis) return this.#redis.eval(fleetScript, this.#keys.length, ...this.#keys, ...args)
    return this.#redis.eval(fleetScript, { keys: this.#keys, arguments: args })
  }

  /** True if the client has a command that runs a script by its hash. */
  get #hasHashes(): boolean {
    return typeof ('call' in this.#redis ? this.#redis.evalsha : this.#redis.evalSha) === 'function'
  }

  #runByHash(hash: string, args: string[]): Promise<unknown> | undefined {
    if ('call' in this.#redis) return this.#redis.evalsha?.(hash, this.#keys.length, ...this.#keys, ...args)
    return this.#redis.evalSha?.(hash, { keys: this.#keys, arguments: args })
  }
}

let scriptHash: string | undefined

/**
 * Returns the SHA-1 of the script, by which Redis knows the script. Where policy forbids SHA-1 (FIPS), returns a hash
 * that Redis does not know, so that the script itself is sent.
 */
async function fleetScriptHash(): Promise<string> {
  // Loaded here, because cryptography takes milliseconds to load, and few processes share a limit.
  const { createHash } = await import('node:crypto')
  try {
    scriptHash ??= createHash('sha1').update(fleetScript).digest('hex')
  } catch {
    scriptHash = '0'.repeat(40)
  }
  return scriptHash
}

/** True for requests per second that can be reported, and come back as they were: at least one a minute. */
function isRate(value: number): boolean {
  return value > 0.0166 && value < 1e9
}

/** Formats a number so that Lua can read it: without `Infinity`, and without exponents such as `1e-7`. */
function decimal(value: number): string {
  return Math.min(Math.max(value, 0), 1e9).toFixed(9)
}

/**
 * Reads an integer in the answer of Redis. A client may be set up to return integers as strings or BigInts.
 *
 * @throws Error if the value is not an integer in this range. The message omits the value, which may have any length.
 */
function integerIn(what: string, value: unknown, min: number, max: number): number {
  const isText = typeof value === 'string' && /^-?\d{1,16}$/.test(value)
  const number = isText || typeof value === 'bigint' ? Number(value) : value
  if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new Error(`its answer has no valid ${what}: expected an integer from ${min} to ${max}`)
}

function textIn(what: string, value: unknown, maxChars: number): string {
  if (typeof value === 'string' && value.length <= maxChars) return value
  throw new Error(`its answer has no valid ${what}: expected a string of at most ${maxChars} characters`)
}

function rateIn(value: unknown): number {
  const rate = Number(textIn('limit', value, 30))
  if (isRate(rate)) return rate
  throw new Error('its answer has no valid limit: expected requests per second')
}

function arcsIn(value: unknown): Arc[] {
  const texts = textIn('share', value, maxArcs * 24).split(' ')
  return texts[0] === '' ? [] : texts.map(arcIn)
}

function arcIn(text: string): Arc {
  const [from = '', to = '', ...others] = text.split('-')
  const arc = [integerIn('share', from, 0, wholeCircle - 1), integerIn('share', to, 1, wholeCircle)] as const
  if (arc[0] < arc[1] && others.length === 0) return arc
  throw new Error('its answer has no valid share: expected parts that begin before they end')
}
