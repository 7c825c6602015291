import { fleetScript } from './fleet-script.ts'
import { type Arc, wholeCircle } from './slots.ts'

/**
 * A client of `ioredis` or of `redis` (node-redis), for one server or a cluster, Redis 5 or later. Whoever made it
 * connects and closes it, and listens to its `error` events.
 */
export type RedisClient = IoredisClient | NodeRedisClient

export interface IoredisClient {
  call(...commandAndArguments: [string, ...string[]]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>
}

export interface NodeRedisClient {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** A process's report of itself, with each call. */
export interface Report {
  /** Its demand, as parts of the limit: to lose no event, and to send each event as soon as it is due. */
  readonly needed: number
  readonly wanted: number
  /** The arcs that it holds. */
  readonly arcs: readonly Arc[]
  /** The limit that it knows, in requests per second; 0 while it knows none. */
  readonly limitPerSecond: number
  /** The limit of the answers that it has got. */
  readonly headerLimit: number | undefined
  /** The license that it has read, as JSON, for all. */
  readonly license: string | undefined
  /** Which license it knows: `licenseVersion` of an earlier answer. */
  readonly licenseVersion: string
  /** Whether it would read the license if no other does. */
  readonly wouldRead: boolean
  /** Whether it asks for one request besides its slots. */
  readonly isGuest: boolean
}

/** Redis' answer to a report. */
export interface Share {
  /** Redis' own time, in milliseconds since the epoch. */
  readonly nowMs: number
  /** When to call again, in milliseconds. */
  readonly renewInMs: number
  readonly arcs: readonly Arc[]
  /** How far the point of each slot is from that of the one before. */
  readonly stride: number
  /** Redis' time of the one request besides the slots. */
  readonly guestMs: number | undefined
  /** The limit that answers to any of the processes have named. */
  readonly headerLimit: number | undefined
  /** When the license was put there by Redis' clock, in milliseconds; `'0'` when it was not. */
  readonly licenseVersion: string
  /** The license, as JSON, if it is another one than that of the report. */
  readonly license: string | undefined
  /** Whether it is for this process to read the license. */
  readonly mayRead: boolean
}

/** Most arcs of one process, and most characters of a license: the script holds to the first, and a reader to the second. */
const maxArcs = 128
const maxLicenseChars = 65_536
/** 2001 to 2286: no clock that is set shows another time, in milliseconds since the epoch. */
const minEpochMs = 1e12
const maxEpochMs = 1e13
/** No lease lasts as long, in milliseconds. */
const maxRenewMs = 60_000

/**
 * The processes that share a limit, as Redis knows them, under `{logferry:fleet:<key>}:members` and `:state`. The braces
 * keep both on one server of a cluster.
 */
export class Register {
  readonly #redis: RedisClient
  readonly #keys: string[]
  readonly #leaseMs: number

  /** @param leaseMs the same in all processes */
  constructor(redis: RedisClient, key: string, leaseMs: number) {
    this.#redis = redis
    this.#keys = ['members', 'state'].map(name => `{logferry:fleet:${key}}:${name}`)
    this.#leaseMs = leaseMs
  }

  /** @throws Error if Redis cannot be asked, or if what it answers cannot be true */
  async renew(id: string, report: Report): Promise<Share> {
    const { needed, wanted, arcs, limitPerSecond, headerLimit, license, licenseVersion, wouldRead, isGuest } = report
    const answer = await this.#run(
      id,
      'renew',
      decimal(needed),
      decimal(wanted),
      arcs.map(([from, to]) => `${from}-${to}`).join(' '),
      decimal(limitPerSecond),
      headerLimit === undefined ? '' : decimal(headerLimit),
      license !== undefined && license.length <= maxLicenseChars ? license : '',
      licenseVersion,
      wouldRead ? '1' : '',
      isGuest ? '1' : '',
    )
    const [nowMs, renewInMs, stride, guestMs, header, version, sent, mayRead, held]: readonly unknown[] = Array.isArray(
      answer,
    )
      ? answer
      : []
    const at = integerIn('time', nowMs, minEpochMs, maxEpochMs)
    const guestAtMs = integerIn('time for a guest', guestMs, 0, maxEpochMs)
    return {
      nowMs: at,
      renewInMs: integerIn('time to call again', renewInMs, 1, maxRenewMs),
      arcs: arcsIn(held),
      stride: integerIn('distance of slots', stride, 1, wholeCircle - 1),
      guestMs: guestAtMs === 0 ? undefined : guestAtMs,
      headerLimit: header === '' ? undefined : rateIn(header),
      licenseVersion: String(integerIn('time of the license', version, 0, maxEpochMs)),
      license: textIn('license', sent, maxLicenseChars) || undefined,
      mayRead: integerIn('leave to read', mayRead, 0, 1) === 1,
    }
  }

  /** Gives back what a process holds: at once, so that it is used no more. */
  async leave(id: string): Promise<void> {
    await this.#run(id, 'leave')
  }

  #run(id: string, action: 'renew' | 'leave', ...report: string[]): Promise<unknown> {
    const args = [id, action, String(this.#leaseMs), ...report]
    if ('call' in this.#redis) return this.#redis.eval(fleetScript, this.#keys.length, ...this.#keys, ...args)
    return this.#redis.eval(fleetScript, { keys: this.#keys, arguments: args })
  }
}

/** A number as Lua reads it: neither `Infinity` nor `1e-7`. */
function decimal(value: number): string {
  return Math.min(Math.max(value, 0), 1e9).toFixed(9)
}

/**
 * A number of Redis' answer; a client may be set up to give it as a text or a BigInt.
 *
 * @throws Error if it is no integer in this range; the answer is not repeated, which may be of any length
 */
function integerIn(what: string, value: unknown, min: number, max: number): number {
  const isText = typeof value === 'string' && /^-?\d{1,16}$/.test(value)
  const number = isText || typeof value === 'bigint' ? Number(value) : value
  if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new Error(`its answer has no usable ${what}: an integer from ${min} to ${max} was expected`)
}

function textIn(what: string, value: unknown, maxChars: number): string {
  if (typeof value === 'string' && value.length <= maxChars) return value
  throw new Error(`its answer has no usable ${what}: a text of ${maxChars} characters at most was expected`)
}

function rateIn(value: unknown): number {
  const rate = Number(textIn('limit', value, 30))
  if (rate > 0 && rate < 1e9) return rate
  throw new Error('its answer has no usable limit: requests per second were expected')
}

function arcsIn(value: unknown): Arc[] {
  const texts = textIn('share', value, maxArcs * 24).split(' ')
  return texts[0] === '' ? [] : texts.map(arcIn)
}

function arcIn(text: string): Arc {
  const [from = '', to = '', ...others] = text.split('-')
  const arc = [integerIn('share', from, 0, wholeCircle - 1), integerIn('share', to, 1, wholeCircle)] as const
  if (arc[0] < arc[1] && others.length === 0) return arc
  throw new Error('its answer has no usable share: pieces that begin before they end were expected')
}
