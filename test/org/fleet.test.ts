import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Lease } from '../../src/delivery/pace.ts'
import { Fleet, leaseOf } from '../../src/org/fleet.ts'
import { randomFrom, stubTime, VirtualClock } from './simulation.ts'
import { SimulatedRedis } from './simulation-redis.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

/** The simulated Redis' clock stands at the start of a term when the virtual clock is at 0. */
let clock: VirtualClock
let redis: SimulatedRedis

beforeEach(() => {
  clock = new VirtualClock()
  redis = new SimulatedRedis(clock, () => 0)
  stubTime(clock)
})

afterEach(() => {
  vi.unstubAllGlobals()
})

interface Member {
  readonly fleet: Fleet
  /** What the process was given, and when. */
  readonly given: { atMs: number; lease: Lease | undefined }[]
  readonly troubles: string[]
  limitPerSecond: number | undefined
}

function join(seed = 1): Member {
  const given: Member['given'] = []
  const troubles: string[] = []
  const fleet = new Fleet({
    redis,
    key: 'org',
    limitPerSecond: () => member.limitPerSecond,
    onLease: lease => given.push({ atMs: Math.round(clock.nowMs), lease }),
    onTrouble: message => troubles.push(message),
    random: randomFrom(seed),
  })
  const member: Member = { fleet, given, troubles, limitPerSecond: 10 }
  fleet.start()
  return member
}

function lastOf({ given }: Member): Lease | undefined {
  return given.at(-1)?.lease
}

const slotMs = 1000 / 9.8

describe('the slots of a process', () => {
  it('are every n-th of a row that is the same for all', () => {
    const leases = [0, 1, 2].map(rank => leaseOf(3, rank, 10, 1_700_000_000_123, 1_700_000_000_000))
    const starts = leases.map(lease => lease.firstSlotMs).sort((a, b) => a - b)
    expect(starts[0]).toBeGreaterThanOrEqual(123)
    expect((starts[1] as number) - (starts[0] as number)).toBeCloseTo(slotMs, 1)
    expect((starts[2] as number) - (starts[1] as number)).toBeCloseTo(slotMs, 1)
    for (const { periodMs } of leases) expect(periodMs).toBeCloseTo(3 * slotMs)
  })

  it('go on from lease to lease while nobody joins or leaves', () => {
    const first = leaseOf(7, 4, 10, 1_700_000_000_000, 0)
    const second = leaseOf(7, 4, 10, 1_700_000_005_000, 0)
    const periods = (second.firstSlotMs - first.firstSlotMs) / first.periodMs
    expect(periods).toBeCloseTo(Math.round(periods), 3)
  })

  it('include one that is due the moment the lease begins', () => {
    expect(leaseOf(1, 0, 5, 1_700_000_010_000, 1_700_000_000_000).firstSlotMs).toBeCloseTo(10_000, 1)
  })
})

describe('a fleet', () => {
  it('of one has all slots at once', async () => {
    const member = join()
    await clock.runUntil(100, true)
    expect(lastOf(member)?.periodMs).toBeCloseTo(slotMs)
    expect(lastOf(member)?.firstSlotMs).toBeLessThan(200)
  })

  it('holds requests back until Redis has answered', () => {
    const member = join()
    expect(lastOf(member)?.firstSlotMs).toBeGreaterThanOrEqual(1000)
  })

  it('asks Redis once per lease', async () => {
    join()
    await clock.runUntil(60_000, true)
    expect(redis.calls).toBe(12)
  })

  it('shares equally from the next lease but one on', async () => {
    const members = [join(), join(2), join(3)]
    await clock.runUntil(10_100, true)
    for (const member of members) expect(lastOf(member)?.periodMs).toBeCloseTo(3 * slotMs)
    const phases = members.map(member => Math.round((lastOf(member)?.firstSlotMs ?? 0) / slotMs) % 3)
    expect(new Set(phases).size).toBe(3)
  })

  it('gives a newcomer a request besides the slots while it waits for its own', async () => {
    join()
    await clock.runUntil(6000, true)
    const newcomer = join(2)
    await clock.runUntil(6100, true)
    expect(lastOf(newcomer)?.periodMs).toBe(5000)
    expect(lastOf(newcomer)?.firstSlotMs).toBeLessThan(11_100)
    await clock.runUntil(15_100, true)
    expect(lastOf(newcomer)?.periodMs).toBeCloseTo(2 * slotMs)
  })

  it('gives nothing besides to the many who start at once', async () => {
    const members = Array.from({ length: 20 }, (_, i) => join(i))
    await clock.runUntil(100, true)
    const waiting = members.filter(member => (lastOf(member)?.firstSlotMs ?? 0) >= 10_000)
    expect(waiting.length).toBeGreaterThan(15)
  })

  it('is shared by those that are left once one has left', async () => {
    const [first, second] = [join(), join(2)]
    await clock.runUntil(20_000, true)
    const closed = first.fleet.close()
    await clock.runUntil(35_100, true)
    await closed
    expect(lastOf(second)?.periodMs).toBeCloseTo(slotMs)
    expect(first.given.at(-1)?.atMs).toBeLessThanOrEqual(20_000)
  })

  it('is shared by those that are left also when one is gone without a word', async () => {
    const [first, second] = [join(), join(2)]
    await clock.runUntil(20_000, true)
    redis.state = 'hanging'
    const closed = first.fleet.close()
    await clock.runUntil(20_300, true)
    await closed
    redis.state = 'there'
    await clock.runUntil(40_100, true)
    expect(lastOf(second)?.periodMs).toBeCloseTo(slotMs)
  })

  it('ends its leases when there is no limit any more, and waits for another', async () => {
    const member = join()
    await clock.runUntil(100, true)
    member.limitPerSecond = undefined
    await clock.runUntil(20_000, true)
    expect(lastOf(member)).toBeUndefined()
    const { calls } = redis
    await clock.runUntil(60_000, true)
    expect(redis.calls).toBe(calls)
    member.limitPerSecond = 10
    await clock.runUntil(60_300, true)
    expect(lastOf(member)?.periodMs).toBeCloseTo(slotMs)
  })

  it('follows the limit', async () => {
    const member = join()
    await clock.runUntil(1000, true)
    member.limitPerSecond = 20
    await clock.runUntil(10_100, true)
    expect(lastOf(member)?.periodMs).toBeCloseTo(slotMs / 2)
  })

  it('may be closed twice, and started again', async () => {
    const member = join()
    const closed = Promise.all([member.fleet.close(), member.fleet.close()])
    await clock.runUntil(1000, true)
    await closed
    const { calls } = redis
    await clock.runUntil(60_000, true)
    expect(redis.calls).toBe(calls)
    member.fleet.start()
    member.fleet.start()
    await clock.runUntil(70_100, true)
    expect(redis.calls).toBe(calls + 2)
    expect(lastOf(member)?.periodMs).toBeCloseTo(slotMs)
  })
})

describe('an answer of Redis that cannot be true', () => {
  const at = (index: number, value: unknown) => (truth: unknown) => (truth as unknown[]).with(index, value)
  const lies: [string, (truth: unknown) => unknown][] = [
    ...[-1, 1e9, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '', 'many', '1e9', null, undefined, true, [2], {}].map(
      (value): [string, (truth: unknown) => unknown] => [`processes: ${String(value)}`, at(1, value)],
    ),
    ['rank: 0 of 0', truth => (truth as unknown[]).with(1, 0).with(2, 0)],
    ['rank: 1 of 1', at(2, 1)],
    ['rank: -2', at(2, -2)],
    ['rank: 0.5', at(2, 0.5)],
    ['registered: 0', at(3, 0)],
    ['registered: NaN', at(3, Number.NaN)],
    ['registered: 1e9', at(3, 1e9)],
    ['time: 0', at(0, 0)],
    ['time: 1', at(0, 1)],
    ['time: NaN', at(0, Number.NaN)],
    ['time: Infinity', at(0, Number.POSITIVE_INFINITY)],
    ['time: 1e300', at(0, 1e300)],
    ['time: 1e15', at(0, 1e15)],
    ['no list', () => 'x'.repeat(100_000)],
    ['nothing', () => null],
    ['an empty list', () => []],
  ]

  it.each(lies)('(%s) is trouble: a process keeps its slots, and says so once and in short', async (_, lie) => {
    const member = join()
    await clock.runUntil(12_000, true)
    const { length } = member.given
    redis.lie = lie
    await clock.runUntil(132_000, true)
    expect(member.given).toHaveLength(length)
    expect(lastOf(member)?.periodMs).toBeCloseTo(slotMs)
    expect(member.troubles).toEqual([
      expect.stringMatching(/Redis cannot be asked .*its answer .*keeps its last share/),
    ])
    expect(member.troubles[0]?.length).toBeLessThan(300)
    redis.lie = undefined
    await clock.runUntil(160_000, true)
    expect(member.given.length).toBeGreaterThan(length)
  })

  it.each(lies)('(%s) leaves a process without slots to itself', async (_, lie) => {
    redis.lie = lie
    const member = join()
    await clock.runUntil(10_000, true)
    expect(lastOf(member)).toBeUndefined()
    expect(member.troubles).toHaveLength(1)
  })

  it.each([
    ['texts', (truth: unknown) => (truth as number[]).map(String)],
    ['BigInts', (truth: unknown) => (truth as number[]).map(BigInt)],
  ])('is not one that a client gives as %s', async (_, lie) => {
    redis.lie = lie
    const member = join()
    await clock.runUntil(20_000, true)
    expect(lastOf(member)?.periodMs).toBeCloseTo(slotMs)
    expect(member.troubles).toEqual([])
  })
})

describe('while Redis is away', () => {
  it.each(['refusing', 'hanging'] as const)(
    '(%s) a process keeps its slots, says so once, asks ever more rarely',
    async state => {
      const member = join()
      await clock.runUntil(12_000, true)
      const { length } = member.given
      redis.state = state
      const { calls } = redis
      await clock.runUntil(132_000, true)
      expect(member.given).toHaveLength(length)
      expect(member.troubles).toHaveLength(1)
      expect(member.troubles[0]).toMatch(/Redis cannot be asked .*keeps its last share/)
      expect(redis.calls - calls).toBeGreaterThan(12)
      expect(redis.calls - calls).toBeLessThan(30)
    },
  )

  it('a process that never had slots is left to itself', async () => {
    redis.state = 'refusing'
    const member = join()
    await clock.runUntil(10_000, true)
    expect(lastOf(member)).toBeUndefined()
    expect(member.troubles).toEqual([
      "the fleet's Redis cannot be asked (connection refused). Until it can, this process finds its share by itself.",
    ])
  })

  it('a second time, it says so again', async () => {
    const member = join()
    for (const state of ['refusing', 'there', 'refusing'] as const) {
      redis.state = state
      await clock.runUntil(clock.nowMs + 30_000, true)
    }
    expect(member.troubles).toHaveLength(2)
  })

  it('and after it has forgotten everything, the slots held go on until there are new ones', async () => {
    const members = [join(), join(2)]
    await clock.runUntil(20_000, true)
    redis.forget()
    for (const member of members) member.given.length = 0
    await clock.runUntil(60_000, true)
    for (const { given } of members) {
      expect(given.length).toBeGreaterThan(5)
      for (const { lease } of given) expect(lease?.periodMs).toBeCloseTo(2 * slotMs)
    }
  })

  it('closing takes a quarter of a second at most', async () => {
    const member = join()
    await clock.runUntil(1000, true)
    redis.state = 'hanging'
    let isClosed = false
    void member.fleet.close().then(() => {
      isClosed = true
    })
    await clock.runUntil(1251, true)
    expect(isClosed).toBe(true)
  })
})
