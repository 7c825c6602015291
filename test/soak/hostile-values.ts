import { inspect } from 'node:util'
import { startEmulator } from '../../src/emulator.ts'
import { watched } from '../support/laws.ts'
import { randomFrom } from '../support/random.ts'
import { brokenOf, type Figures, noProgress, type Progress } from './figures.ts'

export interface HostileValues {
  readonly events: number
  readonly seed: number
}

type Random = () => number

/**
 * Returns a value that an application has logged at some time. JSON cannot represent most of them. `depth` limits their
 * nesting.
 */
const hostile: readonly ((random: Random, depth: number) => unknown)[] = [
  () => undefined,
  () => Number.NaN,
  () => -0,
  () => 10n ** 40n,
  () => Symbol('s'),
  () => () => 1,
  () => new Date(Number.NaN),
  () => '\ud800 lone \udfff',
  () => '\u0000\u2028\u2029\r\n"\\',
  () => new Map<unknown, unknown>([[{ a: 1 }, new Set([1n])]]),
  () => new Uint8Array(1000),
  () => new Float64Array([Number.NaN, Number.POSITIVE_INFINITY]),
  () => new Error('boom', { cause: new AggregateError([new TypeError('a'), 'b', null], 'all') }),
  () => Object.create(null),
  () => new Proxy({}, { ownKeys: fail, get: fail }),
  () => new Proxy({ a: 1 }, { getPrototypeOf: fail }),
  () => Object.defineProperty({}, 'broken', { enumerable: true, get: fail }),
  () => ({ toJSON: fail }),
  () => ({ toJSON: () => undefined }),
  () => ({ toJSON: () => 12n }),
  () => JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}'),
  () => [Promise.resolve(1), new WeakMap(), new WeakRef({})],
  () => Array.from({ length: 3, 1: 'sparse' }),
  () => Object.assign(Array(5), { extra: 1 }),
  () => new String('boxed'),
  () => process.stdout,
  () => globalThis,
  () => nested(2000),
  () => {
    const cyclic: Record<string, unknown> = { list: [] }
    cyclic.self = cyclic
    ;(cyclic.list as unknown[]).push(cyclic)
    return cyclic
  },
  random => 'x'.repeat(Math.floor(5_000_000 * random() ** 8)),
  random => '€\u0001'.repeat(Math.floor(1_000_000 * random() ** 8)),
  random => Object.fromEntries(Array.from({ length: Math.floor(20_000 * random() ** 6) }, (_, n) => [`key${n}`, n])),
  (random, depth) => (depth > 5 ? 1 : { a: pick(random, depth + 1), b: [pick(random, depth + 1)] }),
]

function fail(): never {
  throw new Error('not for you')
}

function nested(depth: number): unknown {
  let value: unknown = 'deep'
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { value }
  return value
}

function pick(random: Random, depth = 0): unknown {
  return hostile[Math.floor(random() * hostile.length)]?.(random, depth)
}

/** Scenario 22: events from 1 byte to 5 MB with values of every kind. */
export async function hostileValues(
  { events, seed }: HostileValues,
  progress: Progress = noProgress,
): Promise<Figures> {
  const random = randomFrom(seed)
  await using emulator = await startEmulator()
  await using logs = watched({ baseUrl: emulator.url, token: emulator.token, maxBufferedBytes: 256 * 1_048_576 })
  const thrown: unknown[] = []
  for (let n = 0; n < events; n++) {
    const value = pick(random)
    try {
      logs.log(n, n + 1, { value, [`name ${String.fromCharCode(n % 600)}`]: n })
    } catch (error) {
      thrown.push(inspect(error))
    }
    if (n % 200 === 199) await logs.flush(60_000)
    progress(`${n} of ${events} events`)
  }
  const { complete } = await logs.flush(60_000)
  const { stubbed, cut, requests, dropped } = logs.stats()
  await logs.close()
  const lines = emulator.lines('d')
  const numbers = lines.map(line => (JSON.parse(line) as { n?: number }).n)
  const longest = lines.reduce((most, line) => Math.max(most, Buffer.byteLength(line)), 0)
  // An event that was cut may have lost its number, but it has arrived.
  return {
    events,
    lost: events - lines.length,
    twice: numbers.filter(n => n !== undefined).length - new Set(numbers.filter(n => n !== undefined)).size,
    requests,
    notes: `${stubbed} with stubs, ${cut} cut, longest ${longest} bytes`,
    broken: brokenOf({
      'never throws': thrown.length === 0,
      'every event arrives, once, as JSON': complete && dropped === 0 && lines.length === events,
      'none is longer than maxEventBytes': longest <= 1_000_000,
      'stubs and cuts are counted': stubbed > 0 && cut > 0,
      'no prototype is touched': !('polluted' in {}),
    }),
  }
}
