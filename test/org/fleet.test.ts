import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Lease } from '../../src/delivery/rate-limiter.ts'
import type { IoredisClient } from '../../src/options/redis-client.ts'
import { Fleet } from '../../src/org/fleet.ts'
import { Register, type Report } from '../../src/org/fleet-redis.ts'
import { strideInTurns } from '../../src/org/fleet-script.ts'
import { type Arc, Slots, wholeCircle } from '../../src/org/slots.ts'
import { randomFrom, stubTime, VirtualClock } from './simulation.ts'
import { SimulatedRedis } from './simulation-redis.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

let clock: VirtualClock
let redis: SimulatedRedis
let redisDelay: () => number

beforeEach(async () => {
  clock = new VirtualClock()
  redisDelay = () => 0
  redis = await SimulatedRedis.start(clock, () => redisDelay())
  stubTime(clock)
  let processes = 0
  vi.stubGlobal('crypto', { randomUUID: () => `process-${++processes}` }) // a process has its share by its id
})

afterEach(() => {
  vi.unstubAllGlobals()
})

/** The report of a process that would use the limit of 10 per second alone, and asks for a request besides its slots. */
const busy: Report = {
  neededPerSecond: 10,
  wantedPerSecond: 10,
  arcs: [],
  turns: 1,
  bornMs: 0,
  limitPerSecond: 10,
  headerLimit: undefined,
  headerAgeMs: 0,
  license: undefined,
  licenseVersion: '0',
  wouldRead: false,
  isGuest: true,
  rarePerSecond: 0.35,
  isUrgent: false,
  wantsMore: false,
}

interface Member {
  readonly fleet: Fleet
  /** The leases that the process was given, with their times. */
  readonly given: { atMs: number; lease: Lease | undefined }[]
  readonly troubles: string[]
  /** The limit that the process knows of, and its demand. */
  limitPerSecond: number | undefined
  headerLimit: number | undefined
  /** True if an answer of the last seconds has named that limit. */
  isNamed: boolean
  wanted: number
  isWaiting: boolean
  /** Number of requests that were not refused. */
  requests: number
}

function join(
  seed = 1,
  known: Partial<Pick<Member, 'limitPerSecond' | 'wanted' | 'isWaiting'>> = {},
  client: IoredisClient = redis,
): Member {
  const given: Member['given'] = []
  const troubles: string[] = []
  const fleet = new Fleet({
    redis: client,
    key: 'org',
    limitPerSecond: () => member.limitPerSecond,
    headerLimit: () => member.headerLimit,
    namedHeaderLimit: () =>
      member.headerLimit === undefined || !member.isNamed ? undefined : { perSecond: member.headerLimit, ageMs: 0 },
    demand: () => ({ needed: 0, wanted: member.wanted }),
    rarePerSecond: 0.35,
    isWaiting: () => member.isWaiting,
    requests: () => member.requests,
    onLease: lease => given.push({ atMs: Math.round(clock.nowMs), lease }),
    onTrouble: message => troubles.push(message),
    random: randomFrom(seed),
  })
  const member: Member = {
    fleet,
    given,
    troubles,
    limitPerSecond: 10,
    headerLimit: undefined,
    isNamed: true,
    wanted: 1000,
    isWaiting: true,
    requests: 0,
    ...known,
  }
  fleet.start()
  return member
}

/** A client that can keep calls until Redis is back, as clients do while they are not connected. */
function keepingCalls(): IoredisClient & { keep(): void; release(): void } {
  let kept: (() => void)[] | undefined
  return {
    call: () => redis.call(),
    async eval(...given) {
      await new Promise<void>(resolve => (kept === undefined ? resolve() : kept.push(resolve)))
      return redis.eval(...given)
    },
    keep() {
      kept = []
    },
    release() {
      for (const resume of kept ?? []) resume()
      kept = undefined
    },
  }
}

function lastOf({ given }: Member): Lease | undefined {
  return given.at(-1)?.lease
}

function rateOf(member: Member): number {
  return lastOf(member)?.perSecond ?? Number.NaN
}

/** Returns the slots of the member in a time from now on. */
function slotsOf(member: Member, ms: number): number[] {
  const slots: number[] = []
  const lease = lastOf(member)
  for (let atMs = clock.nowMs; lease !== undefined; atMs = (slots.at(-1) as number) + 1) {
    const slotMs = lease.nextMs(atMs)
    if (slotMs > clock.nowMs + ms) break
    slots.push(slotMs)
  }
  return slots
}

describe('a fleet', () => {
  it('of one process leaves most slots to others that may start at the same time, and has all after two seconds', async () => {
    const member = join()
    await clock.runUntil(100, true)
    expect(rateOf(member)).toBeGreaterThan(0.07)
    expect(lastOf(member)?.nextMs(100)).toBeLessThan(1500)
    await clock.runUntil(2000, true)
    expect(rateOf(member)).toBeCloseTo(9.8)
    expect(slotsOf(member, 10_000).length).toBeCloseTo(98, -1)
  })

  it('holds requests back for two seconds at most until Redis has answered, as many may start on a busy machine', async () => {
    redisDelay = () => 400 // each way takes 0.8 s
    const member = join()
    expect(lastOf(member)?.nextMs(0)).toBeGreaterThan(2000)
    await clock.runUntil(1900, true)
    expect(member.troubles).toEqual([])
    expect(rateOf(member)).toBeGreaterThan(0)
    expect(rateOf(member)).toBeLessThan(10)
  })

  it('lets a request go after two seconds if Redis does not answer, and then goes by the answers of the service', async () => {
    redis.state = 'hanging'
    const member = join()
    await clock.runUntil(1990, true)
    expect(lastOf(member)?.nextMs(clock.nowMs)).toBeGreaterThan(2000)
    await clock.runUntil(2100, true)
    expect(lastOf(member)).toBeUndefined()
    expect(member.troubles).toEqual([expect.stringMatching(/no answer within .*adapts its request rate/)])
  })

  describe('of a process that has to wait for a processor most of the time, as where many start at once,', () => {
    beforeEach(() => {
      const { setInterval: onTime } = globalThis
      vi.stubGlobal('setInterval', (run: () => void, ms: number) => onTime(run, ms + 80))
    })

    it('waits longer for the first answer of Redis, and reports no trouble', async () => {
      redisDelay = () => 1900
      const member = join()
      await clock.runUntil(3700, true)
      expect(lastOf(member)?.nextMs(clock.nowMs)).toBeGreaterThan(4000)
      await clock.runUntil(5900, true)
      expect(member.troubles).toEqual([])
      expect(rateOf(member)).toBeGreaterThan(0)
      expect(rateOf(member)).toBeLessThan(10)
    })

    it('gives a client that fails fast more time to connect', async () => {
      redis.state = 'refusing'
      const member = join()
      await clock.runUntil(4000, true)
      redis.state = 'there'
      await clock.runUntil(4500, true)
      expect(member.troubles).toEqual([])
      expect(rateOf(member)).toBeGreaterThan(0)
    })

    it('goes by the answers of the service after six seconds without Redis', async () => {
      redis.state = 'hanging'
      const member = join()
      await clock.runUntil(5900, true)
      expect(member.troubles).toEqual([])
      await clock.runUntil(6100, true)
      expect(member.troubles).toEqual([expect.stringMatching(/no answer within/)])
      expect(lastOf(member)).toBeUndefined()
    })
  })

  it('holds requests back briefly while another process reads the license', async () => {
    const member = join(1, { limitPerSecond: undefined })
    await clock.runUntil(2000, true)
    expect(lastOf(member)?.nextMs(2000)).toBeCloseTo(2500, -2)
    await clock.runUntil(4000, true)
    expect(lastOf(member)).toBeUndefined()
    member.limitPerSecond = 10
    await clock.runUntil(6000, true)
    expect(rateOf(member)).toBeGreaterThan(2)
  })

  it('calls Redis once per lease after the first seconds', async () => {
    join()
    await clock.runUntil(10_000, true)
    const { calls } = redis
    await clock.runUntil(110_000, true)
    expect(redis.calls - calls).toBeGreaterThanOrEqual(18)
    expect(redis.calls - calls).toBeLessThanOrEqual(22)
  })

  it('shares equally under equal demand, and no slot belongs to two processes', async () => {
    const members = Array.from({ length: 7 }, (_, i) => join(i))
    await clock.runUntil(20_000, true)
    for (const member of members) {
      expect(rateOf(member)).toBeGreaterThan((9.8 / 7) * 0.8)
      expect(rateOf(member)).toBeLessThan((9.8 / 7) * 1.2)
    }
    const slots = members.flatMap(member => slotsOf(member, 60_000)).sort((a, b) => a - b)
    expect(slots.length).toBeGreaterThan(9.5 * 60)
    for (const [index, slotMs] of slots.slice(1).entries()) {
      expect(slotMs - (slots[index] as number)).toBeGreaterThan(95)
    }
  })

  it('leaves a process that is alone all slots if it uses nearly all of them', async () => {
    for (const before of [2, 0.1]) {
      const member = join(1, { limitPerSecond: 1, wanted: before })
      await clock.runUntil(clock.nowMs + 20_000, true)
      member.wanted = 0.9
      await clock.runUntil(clock.nowMs + 40_000, true)
      expect(rateOf(member)).toBeCloseTo(0.98)
      void member.fleet.close()
    }
  })

  it('lets a process whose share is in pieces use its slots although some come close together', () => {
    const random = randomFrom(1)
    const pieces = Array.from({ length: 20 }, () => Math.floor(random() * wholeCircle * 0.99))
    const arcs = pieces.map((from): Arc => [from, from + wholeCircle / 100])
    const slots = new Slots({ arcs, stride: 2_654_435_769 }, 40, 0)
    const times: number[] = []
    for (let atMs = slots.nextMs(0); atMs < 300_000; atMs = slots.nextMs(atMs + 1)) times.push(atMs)
    const inSecond = times.map(fromMs => times.filter(atMs => atMs >= fromMs && atMs < fromMs + 1000).length)
    const tooMany = inSecond.filter(count => count > slots.maxPerSecond).length
    expect(tooMany / times.length).toBeLessThan(0.02)
  })

  it('gives a process that sends rarely one request after the other while it waits, in case one was refused', async () => {
    for (let i = 0; i < 10; i++) join(i)
    const rare = join(100, { wanted: 0.1, isWaiting: false })
    await clock.runUntil(20_000, true)
    rare.isWaiting = true
    await clock.runUntil(30_000, true)
    const times = rare.given.filter(({ atMs }) => atMs > 20_000).map(({ atMs, lease }) => lease?.nextMs(atMs))
    const soon = new Set(
      times.filter(atMs => atMs !== undefined && atMs < 30_000).map(atMs => Math.round(atMs as number)),
    )
    expect(soon.size).toBeGreaterThan(3)
  })

  it('lets no process use late a slot that belonged to another process at its time', async () => {
    const [leaving, staying] = [join(1), join(2)]
    await clock.runUntil(20_000, true)
    const others = slotsOf(leaving, 10_000)
    const own = slotsOf(staying, 10_000)
    void leaving.fleet.close()
    await clock.runUntil(30_000, true)
    expect(rateOf(staying)).toBeCloseTo(9.8)
    const gained = staying.given.find(({ atMs, lease }) => atMs > 20_000 && (lease?.perSecond ?? 0) > 9)
    const slots: number[] = []
    for (let slotMs = 20_000; slotMs < (gained?.atMs as number); ) {
      slotMs = gained?.lease?.nextMs(slotMs + 1) as number
      slots.push(slotMs)
    }
    const late = slots.slice(0, -1)
    expect(late.length).toBeGreaterThan(3)
    for (const slotMs of late) {
      expect(own.some(ownMs => Math.abs(ownMs - slotMs) < 1)).toBe(true)
      expect(others.some(otherMs => Math.abs(otherMs - slotMs) < 1)).toBe(false)
    }
  })

  it.each([3033, -3033])('has no slot of two processes after the clock of Redis jumps by %d ms', async jumpMs => {
    const members = Array.from({ length: 7 }, (_, i) => join(i))
    await clock.runUntil(20_000, true)
    const random = randomFrom(1)
    redisDelay = () => 4 * random() // less precise than the measurements before the jump
    redis.aheadMs += jumpMs
    await clock.runUntil(40_000, true)
    const slots = members.flatMap(member => slotsOf(member, 10_000)).sort((a, b) => a - b)
    expect(slots.length).toBeGreaterThan(9 * 10)
    for (const [index, slotMs] of slots.slice(1).entries()) {
      expect(slotMs - (slots[index] as number)).toBeGreaterThan(80)
    }
  })

  it('takes slots from a process that hears of it too late, such as a busy one', async () => {
    let lateMs = 0
    let calls = 0
    const distant: IoredisClient = {
      call: () => redis.call(),
      async eval(script, keyCount, ...keysAndArguments) {
        calls++
        const answer = await redis.eval(script, keyCount, ...keysAndArguments)
        await new Promise<void>(resolve => void clock.after(lateMs, resolve))
        return answer
      },
    }
    const late = join(1, {}, distant)
    await clock.runUntil(10_000, true)
    expect(rateOf(late)).toBeCloseTo(9.8)
    lateMs = 1200
    const others = [2, 3, 4, 5].map(seed => join(seed))
    await clock.runUntil(40_000, true)
    expect(late.troubles).toHaveLength(1)
    expect(calls).toBeLessThan(20)
    const slots = [late, ...others].flatMap(member => slotsOf(member, 10_000)).sort((a, b) => a - b)
    for (const [index, slotMs] of slots.slice(1).entries()) {
      expect(slotMs - (slots[index] as number)).toBeGreaterThan(95)
    }
  })

  it('gives unused slots to processes with more demand', async () => {
    const members = [join(1), join(2, { wanted: 1 }), join(3, { wanted: 1 })]
    await clock.runUntil(20_000, true)
    expect(members.map(rateOf)).toEqual([expect.closeTo(7.8, 0), expect.closeTo(1, 0), expect.closeTo(1, 0)])
  })

  it('gives each of many processes its turn, however low the limit is', async () => {
    const members = Array.from({ length: 80 }, (_, i) => join(i, { limitPerSecond: 1 / 6 }))
    await clock.runUntil(60_000, true)
    expect(members.flatMap(({ troubles }) => troubles)).toEqual([])
    const turns = members.map(member => Math.round((lastOf(member) as Lease).nextMs(60_000)))
    expect(Math.max(...turns)).toBeLessThan(60_000 + 128 * 6200) // within one round of the 128 places
    expect(new Set(turns).size).toBe(80)
  })

  it('takes a turn for missed if its request was refused, however long the answer took', async () => {
    const urgentAtMs: number[] = []
    const client: IoredisClient = {
      call: () => redis.call(),
      eval: (script, keyCount, ...given) => {
        if (given[15] === '1') urgentAtMs.push(clock.nowMs)
        return redis.eval(script, keyCount, ...given)
      },
    }
    const [member] = Array.from({ length: 40 }, (_, i) =>
      join(i, { limitPerSecond: 5, isWaiting: false }, i === 0 ? client : redis),
    ) as [Member]
    await clock.runUntil(30_000, true)
    member.isWaiting = true
    member.requests++
    const roundMs = 1000 / rateOf(member)
    await clock.runUntil(30_000 + roundMs, true)
    member.requests++
    await clock.runUntil(30_800 + roundMs, true)
    expect(urgentAtMs.filter(atMs => atMs > 30_000)).toEqual([])
    member.requests-- // the answer is a 429
    await clock.runUntil(33_000 + roundMs, true)
    expect(urgentAtMs.filter(atMs => atMs > 30_000).length).toBeGreaterThan(0)
  })

  it('satisfies a few processes with little demand, and a process that joins', async () => {
    const members = [join(1, { wanted: 1 }), join(2, { wanted: 1 })]
    await clock.runUntil(20_000, true)
    expect(Math.min(...members.map(rateOf))).toBeGreaterThan(4)
    const newcomer = join(3)
    await clock.runUntil(20_050, true)
    expect(lastOf(newcomer)?.nextMs(20_000)).toBeLessThan(23_000)
    await clock.runUntil(28_000, true)
    expect(rateOf(newcomer)).toBeGreaterThan(7)
  })

  it('gives a new process a request within a second, and most of its share within ten seconds, even if all slots are in use', async () => {
    const members = Array.from({ length: 20 }, (_, i) => join(i))
    await clock.runUntil(20_000, true)
    const newcomer = join(100)
    await clock.runUntil(20_100, true)
    expect(lastOf(newcomer)?.nextMs(20_000)).toBeLessThan(21_000)
    await clock.runUntil(30_000, true)
    expect(rateOf(newcomer)).toBeGreaterThan((9.8 / 21) * 0.5)
    expect(members).toHaveLength(20)
  })

  it('keeps a request besides the slots for a process that starts, whatever busy ones ask for', async () => {
    const register = new Register(redis, 'busy', 5000)
    const renew = async (id: string, isUrgent: boolean) => {
      const share = register.renew(id, { ...busy, isUrgent })
      await clock.runUntil(clock.nowMs + 10, true)
      return share
    }
    const ids = Array.from({ length: 20 }, (_, n) => `busy ${n}`)
    for (let n = 0; n < 200; n++) await renew(ids[n % 20] as string, false)
    await clock.runUntil(clock.nowMs + 4000, true)
    const guests = []
    for (const id of ids) guests.push((await renew(id, false)).guestMs)
    expect(guests.filter(guestMs => guestMs !== undefined)).toHaveLength(1)
    const { nowMs, guestMs } = await renew('new', true)
    expect(guestMs).toBe(nowMs)
  })

  it('redistributes the slots of a process as soon as it leaves', async () => {
    const [first, second] = [join(), join(2)]
    await clock.runUntil(20_000, true)
    const closed = first.fleet.close()
    await clock.runUntil(27_000, true)
    await closed
    expect(rateOf(second)).toBeCloseTo(9.8, 0)
    expect(first.given.at(-1)?.atMs).toBeLessThanOrEqual(20_000)
  })

  it('does not take a process for gone whose event loop is blocked for half a second after its start', async () => {
    const register = new Register(redis, 'org', 5000)
    const renew = async (id: string, afterMs: number) => {
      await clock.runUntil(clock.nowMs + afterMs, true)
      const share = register.renew(id, { ...busy, isGuest: false })
      await clock.runUntil(clock.nowMs + 10, true)
      return (await share).renewInMs
    }
    for (let n = 0; n < 4; n++) await renew('busy', 2500)
    expect(await renew('new', 2000)).toBe(500)
    expect(await renew('busy', 1100)).toBe(5000) // as if nobody was gone
    await renew('new', 80)
    expect(await renew('new', 600)).toBe(1000) // and not as a new one again
  })

  it('does not take Redis for empty, nor a process for dead, if the process calls so late that it was taken for gone', async () => {
    const register = new Register(redis, 'org', 5000)
    const renew = async (id: string, more: Partial<Report> = {}) => {
      const share = register.renew(id, { ...busy, isGuest: false, ...more })
      await clock.runUntil(clock.nowMs + 10, true)
      return share
    }
    let late = await renew('late')
    for (let calls = 0; calls < 4; calls++) {
      late = await renew('late', { arcs: late.arcs, bornMs: late.bornMs })
      await renew('busy')
      await clock.runUntil(clock.nowMs + 500, true)
    }
    let busyRenewInMs = 0
    for (let calls = 0; calls < 8; calls++) {
      busyRenewInMs = (await renew('busy')).renewInMs
      await clock.runUntil(clock.nowMs + 700, true)
    }
    expect(busyRenewInMs).toBe(2000) // as one is gone
    const { bornMs } = late
    late = await renew('late', { arcs: late.arcs, bornMs })
    expect(late.renewInMs).toBe(500) // as a new one
    expect((await renew('busy')).renewInMs).toBe(5000)
    await clock.runUntil(clock.nowMs + 600, true)
    await renew('busy')
    late = await renew('late', { arcs: late.arcs, bornMs })
    expect(late.arcs).not.toEqual([])
  })

  it('redistributes the slots of a process that disappears', async () => {
    const [first, second, third] = [join(), join(2), join(3)]
    await clock.runUntil(20_000, true)
    redis.state = 'hanging'
    const closed = first.fleet.close()
    await clock.runUntil(20_300, true)
    await closed
    redis.state = 'there'
    await clock.runUntil(36_000, true)
    expect(rateOf(second) + rateOf(third)).toBeGreaterThan(9)
  })

  it.each([0, 3_600_000])(
    'redistributes the slots of most processes if they disappear while the clock of Redis is set back by %d ms',
    async backMs => {
      const [first, second, third] = [join(), join(2), join(3)]
      await clock.runUntil(20_000, true)
      redis.aheadMs -= backMs
      redis.state = 'hanging'
      const closed = Promise.all([first, second].map(gone => gone.fleet.close()))
      await clock.runUntil(20_300, true)
      await closed
      redis.state = 'there'
      const newcomer = join(4)
      const { calls } = redis
      await clock.runUntil(50_000, true)
      expect(rateOf(third) + rateOf(newcomer)).toBeGreaterThan(9)
      expect(redis.calls - calls).toBeLessThan(60)
    },
  )

  it.each([100_001, 10_000_000, 2_147_483_647, 1e300])('shares no limit of %d per second', async limitPerSecond => {
    const members = [join(1, { limitPerSecond }), join(2, { limitPerSecond })]
    await clock.runUntil(10_000, true)
    expect(members.map(lastOf)).toEqual([undefined, undefined])
  })

  it('stops leasing when the limit is removed, and starts again with a new one', async () => {
    const member = join()
    await clock.runUntil(100, true)
    member.limitPerSecond = Number.POSITIVE_INFINITY
    await clock.runUntil(20_000, true)
    expect(lastOf(member)).toBeUndefined()
    member.limitPerSecond = 10
    await clock.runUntil(22_000, true)
    expect(rateOf(member)).toBeGreaterThan(5)
  })

  it('follows the license within a second', async () => {
    const member = join()
    await clock.runUntil(10_000, true)
    member.limitPerSecond = 20
    await clock.runUntil(11_100, true)
    expect(rateOf(member)).toBeCloseTo(19.6)
  })

  it('follows the lowest limit that any answer names, and a later higher one', async () => {
    const members = [join(), join(2)]
    await clock.runUntil(10_000, true)
    const together = () => members.map(rateOf).reduce((sum, rate) => sum + rate)
    ;(members[0] as Member).headerLimit = 2
    await clock.runUntil(20_000, true)
    expect(together()).toBeCloseTo(1.96, 0)
    for (const member of members) member.headerLimit = 5
    await clock.runUntil(32_000, true)
    expect(together()).toBeCloseTo(4.9, 0)
    for (const member of members) member.headerLimit = undefined
    await clock.runUntil(70_000, true)
    expect(together()).toBeCloseTo(9.8, 0)
  })

  it.each([
    ['another process hears of a higher one', 9, 15_000],
    ['no answer has named it for as long as two requests take', undefined, 140_000],
  ])('does not keep to a low limit that its own last answer named, if %s', async (_, headerLimit, afterMs) => {
    const members = [join(), join(2)]
    await clock.runUntil(10_000, true)
    for (const member of members) member.headerLimit = 1 / 60
    await clock.runUntil(30_000, true)
    const lastSlots = members.map(member => slotsOf(member, 10_000).length)
    expect(Math.min(...lastSlots)).toBe(0)
    for (const member of members) member.isNamed = false
    await clock.runUntil(45_000, true)
    if (headerLimit === undefined) expect(rateOf(members[1] as Member)).toBeLessThan(0.1) // it holds between two requests
    Object.assign(members[0] as Member, { headerLimit, isNamed: true })
    await clock.runUntil(45_000 + afterMs, true)
    expect(members.map(rateOf).reduce((sum, rate) => sum + rate)).toBeGreaterThan(0.95 * (headerLimit ?? 10))
  })

  it('can be started again during its last call', async () => {
    const member = join()
    await clock.runUntil(10_000, true)
    redis.state = 'hanging'
    await clock.runUntil(15_500, true)
    const closed = member.fleet.close()
    member.fleet.start()
    redis.state = 'there'
    await clock.runUntil(25_000, true)
    await closed
    expect(rateOf(member)).toBeCloseTo(9.8)
  })

  it('calls Redis no more often without a limit', async () => {
    const member = join(1, { limitPerSecond: Number.POSITIVE_INFINITY, isWaiting: false })
    await clock.runUntil(10_000, true)
    const { calls } = redis
    for (let second = 10; second < 60; second++) {
      member.isWaiting = second % 2 === 0
      await clock.runUntil(second * 1000, true)
    }
    expect(redis.calls - calls).toBeLessThanOrEqual(13)
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
    await clock.runUntil(60_100, true)
    expect(redis.calls).toBe(calls + 1)
    await clock.runUntil(70_000, true)
    expect(rateOf(member)).toBeCloseTo(9.8)
  })
})

describe('the license', () => {
  const read = (text: string) => {
    const reads = { count: 0, read: async () => `${text} ${++reads.count}` }
    return reads
  }

  it('is read by one process for all', async () => {
    const members = Array.from({ length: 5 }, (_, i) => join(i, { limitPerSecond: undefined }))
    const reads = read('{}')
    const got = Promise.all(members.map(({ fleet }) => fleet.license.get(reads.read, 60_000)))
    await clock.runUntil(5000, true)
    expect(await got).toEqual(Array(5).fill('{} 1'))
    const later = join(9).fleet.license.get(reads.read, 60_000)
    await clock.runUntil(6000, true)
    expect(await later).toBe('{} 1')
  })

  it('comes with the first answer of Redis to a process that joins, and a slot with it, if others know the limit', async () => {
    const others = Array.from({ length: 20 }, (_, i) => join(i))
    const got = others[0]?.fleet.license.get(async () => '{}', 60_000)
    await clock.runUntil(20_000, true)
    await got
    let calls = 0
    const counted: IoredisClient = {
      call: () => redis.call(),
      eval(...given) {
        calls++
        return redis.eval(...given)
      },
    }
    const member = join(99, { limitPerSecond: undefined, wanted: 1 }, counted)
    const applied = member.fleet.license
      .get(() => Promise.reject(new Error('read')), 60_000)
      .then(() => {
        member.limitPerSecond = 10
        member.fleet.apply()
      })
    await clock.runUntil(20_050, true)
    await applied
    expect(calls).toBe(1)
    expect(slotsOf(member, 1500)).not.toEqual([])
  })

  it('is read again by one process when it is outdated', async () => {
    const members = [join(), join(2)]
    const reads = read('{}')
    const got = () => Promise.all(members.map(({ fleet }) => fleet.license.get(reads.read, 10_000)))
    const first = got()
    await clock.runUntil(10_000, true)
    await first
    await clock.runUntil(60_000, true)
    const second = got()
    await clock.runUntil(70_000, true)
    expect(await second).toEqual(['{} 2', '{} 2'])
    expect(reads.count).toBe(2)
  })

  it('that is outdated is asked for with the next call of each process, not by all at the same moment', async () => {
    const members = Array.from({ length: 20 }, (_, i) => join(i))
    const reads = read('{}')
    const got = () => Promise.all(members.map(({ fleet }) => fleet.license.get(reads.read, 10_000)))
    const first = got()
    await clock.runUntil(10_000, true)
    await first
    await clock.runUntil(60_000, true)
    const { calls } = redis
    const second = got()
    await clock.runUntil(60_250, true)
    expect(redis.calls - calls).toBeLessThanOrEqual(5)
    await clock.runUntil(70_000, true)
    expect(await second).toEqual(Array(20).fill('{} 2'))
  })

  it('is read by another process when the reader is gone', async () => {
    const [first, second] = [join(), join(2)]
    void first.fleet.license.get(() => new Promise(() => {}), 60_000)
    await clock.runUntil(1000, true)
    const got = second.fleet.license.get(read('{}').read, 60_000)
    await clock.runUntil(2000, true)
    redis.state = 'hanging'
    const closed = first.fleet.close()
    await clock.runUntil(2300, true)
    await closed
    redis.state = 'there'
    await clock.runUntil(10_000, true)
    expect(await Promise.race([got, 'none yet'])).toBe('{} 1')
  })

  it('is read by each process while Redis is unavailable', async () => {
    redis.state = 'refusing'
    const reads = read('{}')
    const got = Promise.all([join(), join(2)].map(({ fleet }) => fleet.license.get(reads.read, 60_000)))
    await clock.runUntil(1000, true)
    expect((await got).toSorted()).toEqual(['{} 1', '{} 2'])
  })

  it('is read once, and nobody is warned, if the first calls of each client fail because it is still connecting', async () => {
    redis.state = 'refusing'
    const reads = read('{}')
    const members = [join(), join(2)]
    const got = Promise.all(members.map(({ fleet }) => fleet.license.get(reads.read, 60_000)))
    await clock.runUntil(200, true)
    redis.state = 'there'
    await clock.runUntil(2000, true)
    expect(await got).toEqual(['{} 1', '{} 1'])
    expect(members.map(({ troubles }) => troubles)).toEqual([[], []])
  })

  it('is read by another process after a failure: the token of the first may not be allowed to', async () => {
    const [first, second] = [join(), join(2)]
    const failed = first.fleet.license.get(() => Promise.reject(new Error('403')), 60_000).catch(String)
    await clock.runUntil(1000, true)
    expect(await failed).toBe('Error: 403')
    const got = second.fleet.license.get(read('{}').read, 60_000)
    await clock.runUntil(18_000, true)
    expect(await got).toBe('{} 1')
  })

  it('is read by another process within seconds, also if the one that failed tries again and again', async () => {
    const [first, second] = [join(1, { limitPerSecond: undefined }), join(2, { limitPerSecond: undefined })]
    const fails = async (): Promise<void> => {
      await first.fleet.license.get(() => Promise.reject(new Error('503')), 60_000).catch(() => {})
      setTimeout(() => void fails(), 1000)
    }
    void fails()
    await clock.runUntil(100, true)
    const got = second.fleet.license.get(read('{}').read, 60_000)
    await clock.runUntil(8000, true)
    expect(await Promise.race([got, 'none yet'])).toBe('{} 1')
  })

  it('is read again although its time is in the future: the clock of Redis was set back', async () => {
    const members = [join(), join(2)]
    const reads = read('{}')
    const got = () => Promise.all(members.map(({ fleet }) => fleet.license.get(reads.read, 10_000)))
    redis.aheadMs += 86_400_000
    const first = got()
    await clock.runUntil(10_000, true)
    await first
    redis.aheadMs -= 86_400_000
    const newcomer = join(3)
    await clock.runUntil(20_000, true)
    const known = newcomer.fleet.license.get(reads.read, 60_000)
    await clock.runUntil(40_000, true)
    expect(await known).toBe('{} 1')
    const second = newcomer.fleet.license.get(reads.read, 10_000)
    await clock.runUntil(50_000, true)
    expect(await second).toBe('{} 2')
  })

  it('is read by another process as soon as the reader has left', async () => {
    const [first, second] = [join(), join(2)]
    void first.fleet.license.get(() => new Promise(() => {}), 60_000)
    await clock.runUntil(1000, true)
    const closed = first.fleet.close()
    await clock.runUntil(1300, true)
    await closed
    const got = second.fleet.license.get(read('{}').read, 60_000)
    await clock.runUntil(2000, true)
    expect(await got).toBe('{} 1')
  })

  it('that a process has read while Redis was away does not count as new when Redis is back', async () => {
    redis.state = 'refusing'
    const first = join()
    const own = first.fleet.license.get(read('{"old":true}').read, 60_000)
    await clock.runUntil(1000, true)
    expect(await own).toBe('{"old":true} 1')
    await clock.runUntil(600_000, true)
    redis.state = 'there'
    await clock.runUntil(620_000, true)
    const got = join(2).fleet.license.get(read('{}').read, 60_000)
    await clock.runUntil(640_000, true)
    expect(await got).toBe('{} 1')
  })

  it('that a process has read while Redis was away does not count as new either if the client has kept the call until then', async () => {
    const client = keepingCalls()
    const first = join(1, {}, client)
    const own = first.fleet.license.get(read('{"old":true}').read, 60_000)
    await clock.runUntil(1000, true)
    client.keep()
    await clock.runUntil(61_000, true)
    const again = first.fleet.license.get(read('{"old":true}').read, 30_000)
    await clock.runUntil(62_000, true)
    expect(await Promise.all([own, again])).toEqual(['{"old":true} 1', '{"old":true} 1'])
    await clock.runUntil(600_000, true)
    client.release()
    await clock.runUntil(620_000, true)
    const got = join(2).fleet.license.get(read('{}').read, 60_000)
    await clock.runUntil(640_000, true)
    expect(await got).toBe('{} 1')
  })

  it('is no longer waited for by a process that leaves, and asked for anew when it returns', async () => {
    const [first, second] = [join(), join(2)]
    void first.fleet.license.get(() => new Promise(() => {}), 60_000)
    await clock.runUntil(1000, true)
    const reads = read('{}')
    const ended = second.fleet.license.get(reads.read, 60_000).catch(String)
    await clock.runUntil(2000, true)
    const closed = Promise.all([second.fleet.close(), first.fleet.close()])
    await clock.runUntil(2300, true)
    await closed
    expect(await ended).toBe('Error: closed while another process read the license')
    second.fleet.start()
    const got = second.fleet.license.get(reads.read, 60_000)
    await clock.runUntil(4000, true)
    expect(await got).toBe('{} 1')
    expect(reads.count).toBe(1)
  })
})

describe('an impossible answer of Redis', () => {
  const at = (index: number, value: unknown) => (truth: unknown) => (truth as unknown[]).with(index, value)
  const numbers = [
    -1,
    1e300,
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    'many',
    '1e9',
    null,
    undefined,
    true,
    [2],
    {},
  ]
  const shares = [
    '0',
    '5-5',
    '7-3',
    '1-2-3',
    '-1-5',
    `0-${wholeCircle + 1}`,
    '0-1 ',
    'x',
    '0-1,2-3',
    'y'.repeat(10_000),
    7,
    null,
  ]
  const lies: [string, (truth: unknown) => unknown][] = [
    ...[0, 1, 2, 3].flatMap(index =>
      numbers.map((value): [string, (truth: unknown) => unknown] => [`${index}: ${String(value)}`, at(index, value)]),
    ),
    ['time: 0', at(0, 0)],
    ['time: 1e15', at(0, 1e15)],
    ['call again in no time', at(1, 0)],
    ['call again a thousand times a second', at(1, 1)],
    ['call again in a year', at(1, 3e10)],
    ['a stride of nothing', at(2, 0)],
    ['a limit of 0', at(4, '0')],
    ['a limit below 0', at(4, '-1')],
    ['a limit that is not a number', at(4, 'x'.repeat(100_000))],
    ['an infinite limit', at(4, 'Infinity')],
    ['a limit of a request in eleven days', at(4, '0.000001')],
    ['a request in 2283', at(3, 9.9e12)],
    ['a share of a request in years', at(8, '5-6')],
    ['a turn in years', truth => at(8, '5-6')(at(10, wholeCircle)(truth))],
    ['a share from 2283 on', at(11, 9.9e12)],
    ['a license without a time', at(5, 'now')],
    ['a license of a megabyte', at(6, 'x'.repeat(1e6))],
    ['a license that is not a text', at(6, {})],
    ['a read permission of 2', at(7, 2)],
    ...shares.map((value): [string, (truth: unknown) => unknown] => [
      `share: ${String(value).slice(0, 20)}`,
      at(8, value),
    ]),
    ['no list', () => 'x'.repeat(100_000)],
    ['nothing', () => null],
    ['an empty list', () => []],
  ]

  it.each(lies)('(%s) is an error: the process keeps its slots, and warns once, briefly', async (_, lie) => {
    const member = join()
    await clock.runUntil(12_000, true)
    const { length } = member.given
    redis.lie = lie
    await clock.runUntil(132_000, true)
    expect(member.given).toHaveLength(length)
    expect(rateOf(member)).toBeCloseTo(9.8)
    expect(member.troubles).toEqual([expect.stringMatching(/cannot be used .*its answer .*keeps its last share/)])
    expect(member.troubles[0]?.length).toBeLessThan(300)
    redis.lie = undefined
    await clock.runUntil(160_000, true)
    expect(member.given.length).toBeGreaterThan(length)
  })

  it.each(lies)('(%s) makes a process without slots adapt by itself', async (_, lie) => {
    redis.lie = lie
    const member = join()
    await clock.runUntil(10_000, true)
    expect(lastOf(member)).toBeUndefined()
    expect(member.troubles).toHaveLength(1)
  })

  it('may give arcs that no slot meets: the search for one ends within milliseconds', () => {
    const arcs = Array.from({ length: 128 }, (_, i): Arc => [2 * i + 1, 2 * i + 2])
    const slots = new Slots({ arcs, stride: 2 }, 10, 0)
    const before = process.threadCpuUsage()
    expect(slots.nextMs(10_000)).toBe(Number.POSITIVE_INFINITY)
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(100)
  })

  it.each([
    ['texts', (value: unknown) => String(value)],
    ['BigInts', (value: unknown) => (typeof value === 'number' ? BigInt(value) : value)],
  ])('does not include integers that a client returns as %s', async (_, given) => {
    redis.lie = truth => (truth as unknown[]).map(given)
    const member = join()
    await clock.runUntil(20_000, true)
    expect(rateOf(member)).toBeCloseTo(9.8)
    expect(member.troubles).toEqual([])
  })

  it.each([
    ['numbers', (value: unknown) => value],
    ['texts', (value: unknown) => String(value)],
    ['BigInts', (value: unknown) => (typeof value === 'number' ? BigInt(value) : value)],
  ])('tells that processes have turns, also in integers that a client returns as %s', async (_, given) => {
    const answer = [1.8e12, 1000, strideInTurns, 0, '', 0, '', 0, `0-${wholeCircle / 2}`, '', 64, 1.8e12, 1.7e12]
    const report = {
      neededPerSecond: 0,
      wantedPerSecond: 0,
      arcs: [],
      turns: 1,
      bornMs: 0,
      limitPerSecond: 10,
      headerLimit: undefined,
      headerAgeMs: 0,
      license: undefined,
      licenseVersion: '0',
      wouldRead: false,
      isGuest: false,
      rarePerSecond: 0,
      isUrgent: false,
      wantsMore: false,
    }
    const client = { call: async () => null, eval: async () => answer.map(given) }
    expect(await new Register(client, 'turns', 5000).renew('a', report)).toMatchObject({ turns: 64 })
  })
})

describe('while Redis is unavailable', () => {
  it.each(['refusing', 'hanging'] as const)(
    '(%s) a process keeps its slots, warns once, and retries ever more rarely',
    async state => {
      const member = join()
      await clock.runUntil(12_000, true)
      const { length } = member.given
      redis.state = state
      const { calls } = redis
      await clock.runUntil(132_000, true)
      expect(member.given).toHaveLength(length)
      expect(member.troubles).toHaveLength(1)
      expect(member.troubles[0]).toMatch(/cannot be used .*keeps its last share/)
      expect(redis.calls - calls).toBeGreaterThan(12)
      expect(redis.calls - calls).toBeLessThan(30)
    },
  )

  it('for hours, the calls that a client keeps until then are few, and the first answer counts', async () => {
    const client = keepingCalls()
    const member = join(1, {}, client)
    await clock.runUntil(12_000, true)
    client.keep()
    const { calls } = redis
    await clock.runUntil(6 * 3_600_000, true)
    const { length } = member.given
    client.release()
    await clock.runUntil(clock.nowMs + 1000, true)
    expect(redis.calls - calls).toBeLessThan(100)
    expect(member.given.length).toBeGreaterThan(length)
    const after = redis.calls
    await clock.runUntil(clock.nowMs + 60_000, true)
    expect(redis.calls - after).toBeLessThan(30) // one per lease again
    expect(rateOf(member)).toBeCloseTo(9.8)
  })

  it('a process that never had slots adapts by itself', async () => {
    redis.state = 'refusing'
    const member = join()
    await clock.runUntil(10_000, true)
    expect(lastOf(member)).toBeUndefined()
    expect(member.troubles).toEqual([
      'the Redis of limits.fleet cannot be used (connection refused). Until it can, this process adapts its request rate to the ' +
        'answers of the service. Check Redis and its client.',
    ])
  })

  it('a process that had no slots when Redis went away adapts by itself', async () => {
    const first = join()
    await clock.runUntil(20_000, true)
    redis.lie = truth => (truth as unknown[]).with(8, '')
    const second = join(2)
    await clock.runUntil(24_000, true)
    expect(slotsOf(second, 60_000).length).toBeLessThanOrEqual(1) // as a guest
    redis.state = 'refusing'
    await clock.runUntil(40_000, true)
    expect(lastOf(second)).toBeUndefined()
    expect(rateOf(first)).toBeGreaterThan(0)
  })

  it.each([[Object.create(null)], [Object.assign(new Error('x'), { message: Object.create(null) })], [Symbol('no')]])(
    'a rejection without a text is reported, and Redis is asked again (%#)',
    async rejection => {
      const member = join()
      await clock.runUntil(5000, true)
      redis.lie = () => {
        throw rejection
      }
      const { calls } = redis
      await clock.runUntil(60_000, true)
      expect(member.troubles).toHaveLength(1)
      expect(redis.calls - calls).toBeGreaterThan(5)
    },
  )

  it('for a second time, a process warns again', async () => {
    const member = join()
    for (const state of ['refusing', 'there', 'refusing'] as const) {
      redis.state = state
      await clock.runUntil(clock.nowMs + 30_000, true)
    }
    expect(member.troubles).toHaveLength(2)
  })

  it.each([
    ['forgotten everything', true],
    ['remembered all', false],
  ])('for half a minute, after which it has %s, no process uses the slots of another', async (_, hasForgotten) => {
    const members = Array.from({ length: 6 }, (_, i) => join(i))
    await clock.runUntil(30_000, true)
    const rates = () => members.map(rateOf).reduce((sum, rate) => sum + rate)
    const before = members.map(rateOf)
    redis.state = 'refusing'
    await clock.runUntil(60_000, true)
    redis.state = 'there'
    if (hasForgotten) redis.forget()
    for (let second = 60; second < 72; second++) {
      await clock.runUntil(second * 1000, true)
      expect(members.map(rateOf)).toEqual(before)
    }
    await clock.runUntil(100_000, true)
    expect(rates()).toBeGreaterThan(9.3)
    expect(rates()).toBeLessThan(9.9)
  })

  it('closing takes at most a quarter of a second', async () => {
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
