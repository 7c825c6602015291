import { type LuaEngine, LuaFactory } from 'wasmoon'
import type { IoredisClient } from '../../src/options/redis-client.ts'
import { startMs, type VirtualClock } from './simulation.ts'

/**
 * The commands that the fleet's script uses, on tables of Lua. Numbers from and to Redis are texts. A missing value is
 * `false`. Redis runs Lua 5.1, and this is 5.4. fleet-redis.test.ts checks the script on a real Redis.
 */
const redisInLua = `
unpack = table.unpack
compiled = nil
local keys, expiries, nowMs = {}, {}, 0
local commands = {
  TIME = function() return { tostring(math.floor(nowMs / 1000)), tostring(math.floor(nowMs % 1000 * 1000)) } end,
  HGET = function(key, field) return (keys[key] or {})[field] or false end,
  HMGET = function(key, ...)
    local values = {}
    for i, field in ipairs({ ... }) do values[i] = (keys[key] or {})[field] or false end
    return values
  end,
  HGETALL = function(key)
    local all = {}
    for field, value in pairs(keys[key] or {}) do
      all[#all + 1] = field
      all[#all + 1] = value
    end
    return all
  end,
  HSET = function(key, ...)
    local pairs = { ... }
    keys[key] = keys[key] or {}
    for i = 1, #pairs, 2 do
      assert(type(pairs[i + 1]) == 'string', 'a text is expected for ' .. pairs[i])
      keys[key][pairs[i]] = pairs[i + 1]
    end
  end,
  HDEL = function(key, field) if keys[key] then keys[key][field] = nil end end,
  PEXPIRE = function(key, ms) expiries[key] = nowMs + ms end,
}
redis = { call = function(name, ...) return commands[name](...) end }

function forget() keys = {} end

function run(script, atMs, key1, key2, ...)
  nowMs = atMs
  for key, expiresMs in pairs(expiries) do if expiresMs <= nowMs then keys[key] = nil end end
  KEYS, ARGV = { key1, key2 }, { ... }
  compiled = compiled or assert(load(script))
  local answer = compiled()
  for i, value in ipairs(answer) do
    answer[i] = type(value) == 'number' and string.format('n%.0f', value) or 't' .. value
  end
  return table.concat(answer, '\\n')
end
`

/** One Lua engine for all tests of a file, because its start takes a while. */
let engine: Promise<LuaEngine> | undefined

/** A Redis on the virtual clock, which runs only the fleet's script. */
export class SimulatedRedis implements IoredisClient {
  calls = 0
  /** The fate of calls. */
  state: 'there' | 'refusing' | 'hanging' = 'there'
  /** Lead of its clock over the virtual clock, in milliseconds: it is not quite that of the machines. */
  aheadMs = startMs + 1.5
  /** Returns a wrong answer, made of the correct one. */
  lie: ((truth: unknown) => unknown) | undefined
  readonly #clock: VirtualClock
  readonly #random: () => number
  readonly #runInLua: (...args: unknown[]) => string
  readonly #forgetInLua: () => void

  private constructor(
    clock: VirtualClock,
    random: () => number,
    run: (...args: unknown[]) => string,
    forget: () => void,
  ) {
    this.#clock = clock
    this.#random = random
    this.#runInLua = run
    this.#forgetInLua = forget
  }

  static async start(clock: VirtualClock, random: () => number): Promise<SimulatedRedis> {
    engine ??= new LuaFactory().createEngine()
    const lua = await engine
    lua.doStringSync(redisInLua)
    return new SimulatedRedis(clock, random, lua.global.get('run'), lua.global.get('forget'))
  }

  call(): Promise<unknown> {
    throw new Error('not simulated')
  }

  async eval(script: string, _keyCount: number, ...keysAndArguments: string[]): Promise<unknown> {
    this.calls++
    await this.#pass()
    if (this.state === 'refusing') throw new Error('connection refused')
    if (this.state === 'hanging') return new Promise(() => {})
    const answer = this.#run(script, keysAndArguments)
    await this.#pass()
    return this.lie === undefined ? answer : this.lie(answer)
  }

  /** Forgets everything, as after a restart without a dump. */
  forget(): void {
    this.#forgetInLua()
  }

  #run(script: string, keysAndArguments: readonly string[]): unknown {
    const text = this.#runInLua(script, this.aheadMs + this.#clock.nowMs, ...keysAndArguments)
    if (text === '') return []
    return text.split('\n').map(value => (value.startsWith('n') ? Number(value.slice(1)) : value.slice(1)))
  }

  /** Delay of a call on the way to Redis, or back. */
  #pass(): Promise<void> {
    return new Promise(resolve => void this.#clock.after(0.2 + 2 * this.#random(), resolve))
  }
}
