/**
 * The fleet on a real Redis, through both client libraries. Without `redis-server`, these tests are skipped (`apt-get
 * install -y redis-server`).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Redis as Ioredis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Lease } from '../../src/delivery/rate-limiter.ts'
import type { RedisClient } from '../../src/options/redis-client.ts'
import { Fleet } from '../../src/org/fleet.ts'
import { Register, type Report, type Share } from '../../src/org/fleet-redis.ts'
import { partOf, Slots, wholeCircle } from '../../src/org/slots.ts'
import { runScript } from '../support/run-script.ts'
import { canRun } from '../support/run-sync.ts'
import { startShipping } from '../support/shipping.ts'

const isInstalled = canRun('redis-server')
if (!isInstalled) console.warn('skipped: no redis-server here; install it with: apt-get install -y redis-server')

/** A process waits for an answer of Redis for a quarter of it. */
const leaseMs = 500
/** A process that reports nothing, and asks for nothing. */
const nothing: Report = {
  neededPerSecond: 0,
  wantedPerSecond: 0,
  arcs: [],
  turns: 1,
  bornMs: 0,
  limitPerSecond: 0,
  headerLimit: undefined,
  headerAgeMs: 0,
  license: undefined,
  licenseVersion: '0',
  wouldRead: false,
  isGuest: false,
  rarePerSecond: 0.35,
  isUrgent: false,
  wantsMore: false,
}
const slotMs = 1000 / (20 * 0.98)

describe.skipIf(!isInstalled)('on a real Redis', () => {
  let redis: Redis
  let ioredis: Ioredis
  let clients: Redis['clients']

  beforeAll(async () => {
    redis = await startRedis()
    ;({ ioredis, clients } = redis)
  })

  afterAll(() => redis.stop())

  it.each([0, 1])('the script is sent once, and once more after Redis has lost it (client %d)', async index => {
    const register = new Register((clients[index] as (typeof clients)[0]).client, `once-${index}`, leaseMs)
    const evals = async () => Number(/cmdstat_eval:calls=(\d+)/.exec(await ioredis.info('commandstats'))?.[1] ?? 0)
    await ioredis.script('FLUSH')
    const before = await evals()
    for (let i = 0; i < 5; i++) await register.renew('a', nothing)
    expect((await evals()) - before).toBe(1)
    await ioredis.script('FLUSH')
    expect((await register.renew('a', nothing)).renewInMs).toBeGreaterThan(0)
    expect((await evals()) - before).toBe(2)
  })

  it('shippers with the option `limits.fleet` share the license, which one of them reads', {
    timeout: 30_000,
  }, async () => {
    await ioredis.flushall()
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } }, enforce: true })
    const { orgId, accessToken } = shipping.emulator
    const shippers = [...clients, ...clients].map(({ client }) =>
      shipping.ship({ limits: { orgId, accessToken, fleet: { redis: client } } }),
    )
    const rates = () => shippers.map(shipper => shipper.stats().limits?.requestsPerSecond ?? Number.POSITIVE_INFINITY)
    await vi.waitFor(() => {
      expect(Math.min(...rates())).toBeGreaterThan(2)
      expect(Math.max(...rates())).toBeLessThan(6)
    }, 15_000)
    expect(shipping.emulator.requests().filter(({ path }) => path.includes('orgs'))).toHaveLength(1)
    for (const shipper of shippers) {
      expect(shipper.stats().limits).toMatchObject({ because: 'lease' })
      shipper.ship({ n: 1 })
      expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    }
    expect(shipping.emulator.eventCount('d')).toBe(4)
  })

  it.each(['{"license":7}', 'no JSON', '[]'])('an invalid license in Redis (%s) is read again', async license => {
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } } })
    const { orgId, accessToken } = shipping.emulator
    const register = new Register(ioredis, orgId, 5000)
    await register.renew('another', { ...nothing, license })
    const shipper = shipping.ship({ limits: { orgId, accessToken, fleet: { redis: ioredis } } })
    await vi.waitFor(() => expect(shipper.stats().limits?.readAt).toBeDefined(), 10_000)
    expect(shipper.stats().limits).toMatchObject({ because: 'lease', problem: undefined })
    await register.leave('another')
  })

  it('a process that may not read the license applies the one of the others, however old', async () => {
    await ioredis.flushall()
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } } })
    const { orgId } = shipping.emulator
    const register = new Register(ioredis, orgId, 5000)
    await register.renew('another', { ...nothing, license: '{"license":{"apiRateLimitPerSecond":20}}' })
    const state = `{logferry:fleet:${orgId}}:state`
    await ioredis.hset(state, 'licenseAt', String(Date.now() - 3_000_000))
    const shipper = shipping.ship({ limits: { orgId, accessToken: 'of-another', fleet: { redis: ioredis } } })
    await vi.waitFor(() => expect(shipper.stats().limits?.readAt).toBeDefined(), 10_000)
    const warned = expect.stringMatching(/could not be read .* continues with the limits known so far/)
    await vi.waitFor(() => expect(shipping.warnings.map(({ message }) => message)).toContainEqual(warned), 10_000)
    await register.leave('another')
  })

  it('a process that could not read the license applies it once another one has read it', async () => {
    await ioredis.flushall()
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } } })
    const { orgId } = shipping.emulator
    const shipper = shipping.ship({ limits: { orgId, accessToken: 'of-another', fleet: { redis: ioredis } } })
    await vi.waitFor(() => expect(shipper.stats().limits?.problem).toBeDefined(), 10_000)
    const register = new Register(ioredis, orgId, 5000)
    await register.renew('another', { ...nothing, license: '{"license":{"apiRateLimitPerSecond":20}}' })
    await vi.waitFor(() => expect(shipper.stats().limits?.readAt).toBeDefined(), 10_000)
    expect(shipper.stats().limits?.problem).toBeUndefined()
    await register.leave('another')
  })

  it('the first call of a process to Redis asks for the license', async () => {
    await ioredis.flushall()
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } } })
    const { orgId, accessToken } = shipping.emulator
    const calls: string[][] = []
    const redis = {
      call: () => Promise.reject(new Error('not called')),
      eval: (script: string, keyCount: number, ...given: string[]) => {
        calls.push(given)
        return ioredis.eval(script, keyCount, ...given)
      },
    }
    const shipper = shipping.ship({ limits: { orgId, accessToken, fleet: { redis } } })
    await vi.waitFor(() => expect(shipper.stats().limits?.readAt).toBeDefined(), 10_000)
    const reads = calls.map(given => given[12]) // after the two keys
    expect(reads[0]).toBe('1')
  })

  it('a Redis that refuses to write for want of memory keeps the processes of the fleet', async () => {
    const register = new Register(ioredis, 'no memory', leaseMs)
    const report = { ...nothing, wantedPerSecond: 20, limitPerSecond: 20 }
    await register.renew('a', report)
    await register.renew('b', report)
    await ioredis.config('SET', 'maxmemory', '1')
    try {
      await setTimeout(leaseMs / 2) // more than the first calls are apart
      await expect(register.renew('a', report)).rejects.toThrow('OOM')
      expect(await ioredis.hkeys('{logferry:fleet:no memory}:members')).toEqual(['a', 'b'])
    } finally {
      await ioredis.config('SET', 'maxmemory', '0')
    }
  })

  it.each([2_147_483_647, 1e9, 1e-10, Number.POSITIVE_INFINITY])(
    'a limit of %d per second in headers is not told to others',
    async headerLimit => {
      const register = new Register((clients[0] as (typeof clients)[0]).client, `headers ${headerLimit}`, leaseMs)
      expect(await register.renew('a', { ...nothing, headerLimit })).toMatchObject({ headerLimit: undefined })
    },
  )

  it('a lower limit in headers gives way to a higher one, whatever an answer before named', async () => {
    const register = new Register(ioredis, 'raised headers', leaseMs)
    const renew = async (headerLimit: number, headerAgeMs = 0) =>
      (await register.renew('a', { ...nothing, headerLimit, headerAgeMs })).headerLimit
    expect(await renew(10)).toBe(10)
    expect(await renew(40)).toBe(10)
    await setTimeout(leaseMs + 20)
    expect(await renew(10, leaseMs + 5)).toBe(10)
    const beforeMs = performance.now()
    expect(await renew(40)).toBe(40)
    expect(await renew(10, performance.now() - beforeMs + 50)).toBe(40)
    expect(await renew(10)).toBe(10)
  })

  it.each(['headerMs', 'raisedMs'])('a wrong %s of the future does not fix the limit in headers', async name => {
    const register = new Register(ioredis, `wrong ${name}`, leaseMs)
    const renew = async (headerLimit: number) => (await register.renew('a', { ...nothing, headerLimit })).headerLimit
    await renew(20)
    await ioredis.hset(`{logferry:fleet:wrong ${name}}:state`, name, String(Date.now() + 1e9))
    expect(await renew(10)).toBe(10)
    await setTimeout(leaseMs + 20)
    expect(await renew(40)).toBe(40)
  })

  it.each([0, 1])('a process gets its own share and the reports of others (client %d)', async index => {
    const { name, client } = clients[index] as (typeof clients)[0]
    const register = new Register(client, `told to ${name}`, leaseMs)
    const first = await register.renew('a', {
      ...nothing,
      neededPerSecond: 1,
      wantedPerSecond: 1,
      license: '{"é":1}',
      headerLimit: 12.5,
    })
    expect(Math.abs(first.nowMs - Date.now())).toBeLessThan(leaseMs)
    expect(first.arcs).toHaveLength(1)
    expect(first).toMatchObject({ headerLimit: 12.5, license: '{"é":1}', mayRead: false, guestMs: undefined })

    // A process that sends rarely has a slot of its own once in a minute at this limit, by chance within the next second.
    const second = await vi.waitFor(async () => {
      const renewed = await register.renew('b', { ...nothing, wouldRead: true, isGuest: true, limitPerSecond: 0.7 })
      expect(renewed.guestMs).toBeGreaterThanOrEqual(first.nowMs)
      return renewed
    }, 4000)
    expect(second).toMatchObject({ headerLimit: 12.5, license: '{"é":1}', mayRead: true })
    const { licenseVersion } = second
    expect(await register.renew('b', { ...nothing, licenseVersion })).toMatchObject({ license: undefined })
    expect(await register.renew('a', { ...nothing, licenseVersion, wouldRead: true })).toMatchObject({ mayRead: false })
  })

  it.each([
    'count',
    'turns',
    'calledMs',
    'surveyedMs',
    'returnedMs',
    'reservedMs',
    'guestMs',
    'lostMs',
    'joins',
    'joinsMs',
    'heardMs',
    'settledMs',
    'steadyMs',
    'reserved',
    'header',
    'limit',
    'licenseAt',
  ])('a %s in Redis that is no number is no reason to refuse calls', async name => {
    const register = new Register(ioredis, `no number ${name}`, leaseMs)
    const report = { ...nothing, wantedPerSecond: 0.1, limitPerSecond: 1, isGuest: true }
    await register.renew('a', report)
    await ioredis.hset(`{logferry:fleet:no number ${name}}:state`, name, 'x')
    expect((await register.renew('b', report)).renewInMs).toBeGreaterThan(0)
  })

  it.each(['reservedMs', 'count'])(
    'a %s in Redis that is far too large keeps no process from its requests',
    async name => {
      const register = new Register(ioredis, `far too large ${name}`, leaseMs)
      const rare = { ...nothing, wantedPerSecond: 0.1, limitPerSecond: 100, isGuest: true }
      const busy = { ...nothing, neededPerSecond: 100, wantedPerSecond: 100, limitPerSecond: 100 }
      await register.renew('busy', busy)
      await ioredis.hset(`{logferry:fleet:far too large ${name}}:state`, name, '1e15')
      let share = await register.renew('rare', rare)
      for (let calls = 0; calls < 30 && share.arcs.length === 0 && share.guestMs === undefined; calls++) {
        await setTimeout(leaseMs / 5)
        await register.renew('busy', busy)
        share = await register.renew('rare', rare)
      }
      expect(share.arcs.length > 0 || share.guestMs !== undefined).toBe(true)
    },
  )

  it.each([
    'bornMs',
    'calledMs',
    'surveyedMs',
    'returnedMs',
    'heardMs',
    'lostMs',
    'joinsMs',
    'growsMs',
    'settledMs',
    'steadyMs',
  ])('a %s in Redis of the future keeps no process from its share', async name => {
    const register = new Register(ioredis, `future ${name}`, leaseMs)
    const busy = { ...nothing, neededPerSecond: 100, wantedPerSecond: 100, limitPerSecond: 100 }
    await register.renew('a', busy)
    await ioredis.hset(`{logferry:fleet:future ${name}}:state`, name, String(Date.now() + 1e9))
    await vi.waitFor(async () => {
      const others = (await register.renew('a', busy)).arcs
      const { arcs } = await register.renew('b', busy)
      expect(lengthOf(arcs) / (lengthOf(arcs) + lengthOf(others))).toBeGreaterThan(0.3)
    }, 5000)
  })

  it('a process that does not know the limit yet gets a slot by the limit that another one reports', async () => {
    const register = new Register(ioredis, 'limit of another', 5000)
    await register.renew('a', { ...nothing, wantedPerSecond: 100, limitPerSecond: 100 })
    const starting = { ...nothing, wantedPerSecond: 1, limitPerSecond: undefined, isGuest: true, isUrgent: true }
    const share = await register.renew('b', starting)
    expect(new Slots(share, 100, share.nowMs).nextMs(0)).toBeLessThan(1500)
  })

  it.each(['x', 'nan', 'inf', '-inf', '-1', '0', '1e-300', '1e300', '1e999', '100001'])(
    'a limit of %s in Redis, which no process has reported, gives no process a share that cannot be',
    async wrong => {
      const register = new Register(ioredis, `a limit of ${wrong}`, leaseMs)
      await register.renew('a', { ...nothing, wantedPerSecond: 1, limitPerSecond: 5 })
      await ioredis.hset(`{logferry:fleet:a limit of ${wrong}}:state`, 'limit', wrong)
      const starting = { ...nothing, wantedPerSecond: 1, limitPerSecond: undefined, isGuest: true, isUrgent: true }
      const share = await register.renew('b', starting)
      expect(partOf(share.arcs)).toBeLessThanOrEqual(1)
      await register.renew('a', { ...nothing, wantedPerSecond: 1, limitPerSecond: 5 })
      expect(await ioredis.hget(`{logferry:fleet:a limit of ${wrong}}:state`, 'limit')).toBe('5')
    },
  )

  it('two keys with the id of the organization are used, and expire', async () => {
    const register = new Register(ioredis, 'org', leaseMs)
    await register.renew('a', { ...nothing, license: '{}' })
    const keys = await ioredis.keys('*fleet:org}*')
    expect(keys.sort()).toEqual(['{logferry:fleet:org}:members', '{logferry:fleet:org}:state'])
    await setTimeout(3 * leaseMs + 50)
    expect(await ioredis.keys('*fleet:org}*')).toEqual([])
  })

  it('a user of Redis needs the commands and keys that the documentation names, and no others', async () => {
    const documented = /^ACL SETUSER (.+)$/m.exec(readFileSync('docs/license-limits.md', 'utf8'))?.[1] as string
    const [user = '', ...rules] = documented.split(' ')
    const password = 'p'
    await ioredis.call('ACL', 'SETUSER', user, ...rules.map(rule => (rule.startsWith('>') ? `>${password}` : rule)))
    const client = new Ioredis({ port: redis.port, host: '127.0.0.1', username: user, password })
    onTestFinished(() => client.disconnect())
    const register = new Register(client, 'org of a user', leaseMs)
    await ioredis.script('FLUSH')
    expect(
      (await register.renew('a', { ...nothing, wantedPerSecond: 5, limitPerSecond: 5, license: '{}' })).arcs,
    ).toHaveLength(1)
    expect((await register.renew('b', { ...nothing, wantedPerSecond: 5, limitPerSecond: 5 })).license).toBe('{}')
    await register.leave('a')
    const granted = rules.filter(rule => /^\+/.test(rule))
    for (const rule of granted) {
      await ioredis.call('ACL', 'SETUSER', user, `-${rule.slice(1)}`)
      await ioredis.script('FLUSH')
      const used = Promise.all([register.renew('a', { ...nothing, license: '{}' }), register.leave('a')])
      await expect(used, `without ${rule}`).rejects.toThrow()
      await ioredis.call('ACL', 'SETUSER', user, rule)
    }
  })

  it.each([20, 30, 60])('where each of %d has its turn, no two have the same slot', async processes => {
    const register = new Register(ioredis, `${processes} in turns`, 5000)
    const report = { ...nothing, wantedPerSecond: 5, limitPerSecond: 5 }
    const ids = Array.from({ length: processes }, (_, n) => `p${n}`)
    // All calls are made within a moment, on a busy machine as well: free places change hands from second to second. At the
    // second call, each knows how many have joined.
    const joined = await Promise.all(ids.map(id => register.renew(id, { ...report, arcs: [] })))
    const shares = await Promise.all(ids.map((id, n) => register.renew(id, { ...report, arcs: joined[n]?.arcs ?? [] })))
    const slots = shares.flatMap(share => {
      expect(share.turns).toBeGreaterThan(1)
      const own = new Slots(share, 5, share.nowMs)
      const times: number[] = []
      for (let atMs = own.nextMs(0); atMs < 60_000; atMs = own.nextMs(atMs + 1))
        times.push(Math.round(share.nowMs + atMs))
      return times
    })
    expect(new Set(slots).size).toBe(slots.length)
    expect(slots.length).toBeGreaterThan(0.4 * 60 * 4.9)
  })

  it('slots of the distant future that were promised keep no process from its turns', async () => {
    const key = 'promised in the future'
    const register = new Register(ioredis, key, 5000)
    const report = { ...nothing, wantedPerSecond: 5, limitPerSecond: 5, isGuest: true, isUrgent: true }
    const ids = Array.from({ length: 20 }, (_, n) => `p${n}`)
    await Promise.all(ids.map(id => register.renew(id, report)))
    const promised = Array.from({ length: 128 }, (_, n) => `${Date.now() + 1e9}-${n * 2 ** 25}`)
    await ioredis.hset(`{logferry:fleet:${key}}:state`, 'reserved', promised.join(' '))
    const share = await register.renew('newcomer', report)
    expect(share.turns).toBeGreaterThan(1)
    expect(share.arcs.length > 0 || share.guestMs !== undefined).toBe(true)
  })

  it('each free place is spare for one process, while Redis is away', async () => {
    const register = new Register(ioredis, 'spare places', 5000)
    const report = { ...nothing, wantedPerSecond: 5, limitPerSecond: 5 }
    const ids = Array.from({ length: 20 }, (_, n) => `p${n}`)
    let shares: Share[] = []
    for (let call = 0; call < 3; call++) {
      await setTimeout(20) // so that the processes are counted again
      shares = await Promise.all(ids.map(id => register.renew(id, report)))
    }
    const all = shares.flatMap(({ arcs, spareArcs }) => [...arcs, ...spareArcs]).sort(([one], [other]) => one - other)
    expect(shares.flatMap(({ spareArcs }) => spareArcs).length).toBeGreaterThan(0)
    expect(all.map(([from]) => from)).toEqual([0, ...all.map(([, to]) => to).slice(0, -1)])
    expect(all.at(-1)?.[1]).toBe(wholeCircle)
  })

  it.each([2 ** 31 - 1, 1e9])(
    'a limit of %d requests per second does not keep Redis busy',
    async limitPerSecond => {
      const register = new Register(ioredis, `a limit of ${limitPerSecond}`, 5000)
      const report = { ...nothing, wantedPerSecond: limitPerSecond, limitPerSecond, isGuest: true, isUrgent: true }
      for (let call = 0; call < 3; call++) await register.renew('p', report)
      expect(await ioredis.ping()).toBe('PONG')
    },
    2000,
  )

  it('a number of processes that something has overwritten does not keep Redis busy', async () => {
    const register = new Register(ioredis, 'too many', 5000)
    const report = { ...nothing, wantedPerSecond: 5, limitPerSecond: 5 }
    await register.renew('p', report)
    await ioredis.config('SET', 'slowlog-log-slower-than', 100_000) // microseconds
    await ioredis.slowlog('RESET')
    await ioredis.hset('{logferry:fleet:too many}:state', 'count', '100000')
    const { turns } = await register.renew('another', report)
    expect(turns).toBe(131_072)
    expect(await ioredis.slowlog('LEN')).toBe(0)
  })

  it('the places are few again when there are few processes for them', async () => {
    const register = new Register(ioredis, 'too many turns', 5000)
    const report = { ...nothing, wantedPerSecond: 5, limitPerSecond: 5 }
    let shares: Share[] = []
    const renewAll = async () => {
      const renewals = Array.from({ length: 20 }, (_, n) => ({ ...report, arcs: shares[n]?.arcs ?? [] }))
      shares = await Promise.all(renewals.map((renewal, n) => register.renew(`p${n}`, renewal)))
    }
    await renewAll()
    await ioredis.hset('{logferry:fleet:too many turns}:state', 'turns', '100000')
    await renewAll()
    await renewAll()
    const places = shares.map(({ arcs }) => lengthOf(arcs) / 2 ** 26)
    expect(places.filter(count => count < 1 || !Number.isInteger(count))).toEqual([]) // of 64 places
  })

  it('processes of both libraries share one set of slots, through a restart of Redis and the end of one process', async () => {
    // This test stops its Redis, so it has one of its own.
    const own = await startRedis()
    onTestFinished(() => own.stop())
    const members = Array.from({ length: 4 }, (_, index) => join(own.clients[index % 2]?.client as RedisClient))
    await vi.waitFor(() => expectShares(members, 0.97), { timeout: 5000, interval: 20 })

    for (const { troubles } of members) troubles.length = 0 // of a machine that stood still
    await own.stopServer()
    await vi.waitFor(() => expect(members.map(({ troubles }) => troubles.length)).toEqual([1, 1, 1, 1]), 5000)
    expectShares(members)
    await own.startServer()
    await vi.waitFor(
      () => expect(members.every(({ renewedMs }) => performance.now() - renewedMs() < 1.4 * leaseMs)).toBe(true),
      {
        timeout: 8000,
        interval: 20,
      },
    )
    expectShares(members)

    await members.pop()?.fleet.close()
    await vi.waitFor(() => expectShares(members), { timeout: 5000, interval: 20 })
    const closedAtMs = performance.now()
    await Promise.all(members.map(({ fleet }) => fleet.close()))
    expect(performance.now() - closedAtMs).toBeLessThan(1000)
    for (const { troubles } of members) expect(troubles).toHaveLength(1)
  })

  it('a process ends by itself, with and without a reachable Redis', async () => {
    const run = (at: number) =>
      runScript(`
        import { Redis } from 'ioredis'
        import { Fleet } from '${new URL('../../src/org/fleet.ts', import.meta.url)}'
        const redis = new Redis({ port: ${at}, host: '127.0.0.1' }).on('error', () => {})
        const fleet = new Fleet({
          redis, key: 'x', limitPerSecond: () => 5, headerLimit() {}, namedHeaderLimit() {}, demand: () => ({ needed: 0, wanted: 1 }),
          rarePerSecond: 0.35, isWaiting: () => false, requests: () => 0, onLease() {}, onTrouble() {}, leaseMs: 300,
        })
        fleet.start()
        setTimeout(async () => {
          await fleet.close()
          redis.disconnect()
        }, 500)
      `)
    for (const ended of await Promise.all([run(redis.port), run(await freePort())])) {
      expect(ended).toMatchObject({ code: 0, stderr: '' })
      expect(ended.ms).toBeLessThan(10_000)
    }
  })
})

interface Member {
  readonly fleet: Fleet
  readonly troubles: string[]
  lease(): Lease | undefined
  renewedMs(): number
}

function join(redis: RedisClient): Member {
  const troubles: string[] = []
  let lease: Lease | undefined
  let renewedMs = 0
  const fleet = new Fleet({
    redis,
    key: 'shared',
    limitPerSecond: () => 20,
    headerLimit: () => undefined,
    namedHeaderLimit: () => undefined,
    demand: () => ({ needed: 0, wanted: 100 }),
    rarePerSecond: 0.35,
    isWaiting: () => true,
    requests: () => 1,
    onLease: given => {
      lease = given
      renewedMs = performance.now()
    },
    onTrouble: message => troubles.push(message),
    leaseMs,
  })
  fleet.start()
  return { fleet, troubles, lease: () => lease, renewedMs: () => renewedMs }
}

/**
 * Checks for equal shares, for slots as far apart as the limit requires, and that at least the given share of the limit is
 * handed out: less than all of it until each process has heard what the others have changed.
 */
function expectShares(members: readonly Member[], handedOut = 0.9): void {
  const nowMs = performance.now()
  const slots: number[] = []
  for (const { lease } of members) {
    expect(lease()?.perSecond).toBeGreaterThan((19.6 / members.length) * 0.8)
    expect(lease()?.perSecond).toBeLessThan((19.6 / members.length) * 1.2)
    let atMs = lease()?.nextMs(nowMs) ?? Number.POSITIVE_INFINITY
    for (; atMs < nowMs + 5000; atMs = lease()?.nextMs(atMs + 1) ?? Number.POSITIVE_INFINITY) slots.push(atMs)
  }
  slots.sort((a, b) => a - b)
  expect(slots.length).toBeGreaterThan(handedOut * 5 * 19.6)
  for (const [index, atMs] of slots.slice(1).entries()) {
    expect(atMs - (slots[index] as number)).toBeGreaterThan(slotMs - 10)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

type Redis = Awaited<ReturnType<typeof startRedis>>

/** Starts a Redis of its own, with a connected client of each library. */
function lengthOf(arcs: Share['arcs']): number {
  return arcs.reduce((sum, [from, to]) => sum + to - from, 0)
}

async function startRedis() {
  const port = await freePort()
  let server: ChildProcess | undefined
  const startServer = async () => {
    const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    const started = spawn('redis-server', args)
    server = started
    for await (const text of started.stdout) if (String(text).includes('Ready to accept')) break
  }
  const stopServer = async () => {
    const stopped = server
    server = undefined
    if (stopped?.kill('SIGKILL')) await once(stopped, 'exit')
  }
  await startServer()
  const ioredis = new Ioredis({ port, host: '127.0.0.1' }).on('error', () => {})
  const nodeRedis = createClient({ socket: { port, host: '127.0.0.1' } }).on('error', () => {})
  await nodeRedis.connect()
  const clients: readonly { readonly name: string; readonly client: RedisClient }[] = [
    { name: 'ioredis', client: ioredis },
    { name: 'redis', client: nodeRedis },
  ]
  const stop = async () => {
    ioredis.disconnect()
    nodeRedis.destroy()
    await stopServer()
  }
  return { port, ioredis, clients, startServer, stopServer, stop }
}
