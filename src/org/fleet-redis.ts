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

/** Most processes of one organization: whoever can write to Redis could otherwise leave each with no slots worth the name. */
const maxProcesses = 100_000
/** 2001 to 2286: no clock that is set shows another time, in milliseconds since the epoch. */
const minEpochMs = 1e12
const maxEpochMs = 1e13

/** What Redis says to a process that registers. */
export interface Registration {
  /** Redis' own time, in milliseconds since the epoch. */
  readonly nowMs: number
  /** How many processes had registered in the term before this one. */
  readonly processes: number
  /** This process's place among them, from 0; -1 when it was not there. */
  readonly rank: number
  /** How many have registered in this term until now, this one included. */
  readonly registered: number
}

/**
 * Time is cut into terms by Redis' clock. A process registers once in each term, in that term's sorted set, and is told
 * of the set of the term before, to which nobody can be added any more: so all are told the same. Three sets take
 * turns, and each goes when nobody reads it any more.
 */
const script = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local id, termMs, action = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local term = math.floor(now / termMs)
local current, previous = KEYS[term % 3 + 1], KEYS[(term + 2) % 3 + 1]
if action == 'leave' then
  return redis.call('ZREM', current, id)
end
redis.call('ZADD', current, 0, id)
redis.call('PEXPIREAT', current, (term + 2) * termMs)
return {
  now,
  redis.call('ZCARD', previous),
  redis.call('ZRANK', previous, id) or -1,
  redis.call('ZCARD', current),
}`

/**
 * One list of processes in Redis, under `{logferry:fleet:<key>}:0` to `:2`. The braces keep the three on one server of a
 * cluster.
 */
export class Register {
  readonly #redis: RedisClient
  readonly #keys: string[]
  readonly #termMs: number

  /** @param termMs the same in all processes */
  constructor(redis: RedisClient, key: string, termMs: number) {
    this.#redis = redis
    this.#keys = [0, 1, 2].map(turn => `{logferry:fleet:${key}}:${turn}`)
    this.#termMs = termMs
  }

  async register(id: string): Promise<Registration> {
    const answer = await this.#run(id, 'register')
    const numbers: readonly unknown[] = Array.isArray(answer) ? answer : []
    const processes = integerIn('number of processes', numbers[1], 0, maxProcesses)
    return {
      nowMs: integerIn('time', numbers[0], minEpochMs, maxEpochMs),
      processes,
      rank: integerIn('place among the processes', numbers[2], -1, processes - 1),
      registered: integerIn('number of registered processes', numbers[3], 1, maxProcesses),
    }
  }

  /** Takes a process out of this term's set; it is then no longer counted from the term after the next on. */
  async leave(id: string): Promise<void> {
    await this.#run(id, 'leave')
  }

  #run(id: string, action: 'register' | 'leave'): Promise<unknown> {
    const args = [id, String(this.#termMs), action]
    if ('call' in this.#redis) return this.#redis.eval(script, this.#keys.length, ...this.#keys, ...args)
    return this.#redis.eval(script, { keys: this.#keys, arguments: args })
  }
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
