/**
 * The fleet on a real Redis, through both client libraries. Where there is no `redis-server` these tests are skipped:
 * `apt-get install -y redis-server` brings it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Redis as Ioredis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Lease } from '../../src/delivery/pace.ts'
import { Fleet, type RedisClient } from '../../src/org/fleet.ts'
import { Register } from '../../src/org/fleet-redis.ts'
import { runScript } from '../support/run-script.ts'
import { startShipping } from '../support/shipping.ts'

const isInstalled = spawnSync('redis-server', ['--version']).status === 0
if (!isInstalled) console.warn('skipped: no redis-server here; install it with: apt-get install -y redis-server')

const leaseMs = 300
const slotMs = 1000 / (20 * 0.98)

describe.skipIf(!isInstalled)('on a real Redis', () => {
  let port: number
  let server: ChildProcess
  let ioredis: Ioredis
  let clients: { readonly name: string; readonly client: RedisClient; close(): void }[]

  beforeAll(async () => {
    port = await freePort()
    server = await startServer(port)
    ioredis = new Ioredis({ port, host: '127.0.0.1' }).on('error', () => {})
    const nodeRedis = createClient({ socket: { port, host: '127.0.0.1' } }).on('error', () => {})
    await nodeRedis.connect()
    clients = [
      { name: 'ioredis', client: ioredis, close: () => ioredis.disconnect() },
      { name: 'redis', client: nodeRedis, close: () => nodeRedis.destroy() },
    ]
  })

  afterAll(async () => {
    for (const { close } of clients) close()
    server.kill('SIGKILL')
    await once(server, 'exit')
  })

  it('shippers with the option `limits.fleet` share the licence', { timeout: 30_000 }, async () => {
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } }, enforce: true })
    const { orgId, accessToken } = shipping.emulator
    const shippers = clients.map(({ client }) =>
      shipping.ship({ limits: { orgId, accessToken, fleet: { redis: client } } }),
    )
    const rates = () => shippers.map(shipper => shipper.stats().limits?.requestsPerSecond?.toFixed(1))
    while (rates().join() !== '9.8,9.8') await setTimeout(50)
    for (const shipper of shippers) {
      expect(shipper.stats().limits).toMatchObject({ because: 'lease' })
      shipper.ship({ n: 1 })
      expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    }
    expect(shipping.emulator.eventCount('d')).toBe(2)
  })

  it.each([0, 1])(
    'a process is told of those of the term before, and of its own place among them (client %d)',
    async index => {
      const { name, client } = clients[index] as (typeof clients)[0]
      const register = new Register(client, `terms of ${name}`, leaseMs)
      const term = async () => (await register.register('b')).nowMs
      const startMs = await nextTerm(await term())
      const [first, second] = [await register.register('b'), await register.register('a')]
      expect(first).toMatchObject({ rank: 0, processes: 1, registered: 1 })
      expect(second).toMatchObject({ rank: -1, processes: 1, registered: 2 })
      expect(Math.abs(first.nowMs - startMs)).toBeLessThan(leaseMs)

      await nextTerm(first.nowMs)
      expect(await register.register('a')).toMatchObject({ rank: 0, processes: 2, registered: 1 })
      const third = await register.register('b')
      expect(third).toMatchObject({ rank: 1, processes: 2, registered: 2 })
      await register.leave('a')

      await nextTerm(third.nowMs)
      expect(await register.register('b')).toMatchObject({ rank: 0, processes: 1, registered: 1 })
    },
  )

  it('takes three keys, with the id of the organization in them, which go by themselves', async () => {
    const register = new Register(ioredis, 'org', leaseMs)
    for (let term = 0; term < 4; term++) await nextTerm((await register.register('a')).nowMs)
    const keys = await ioredis.keys('*fleet:org}*')
    expect(keys.length).toBeGreaterThan(0)
    for (const key of keys) expect(key).toMatch(/^\{logferry:fleet:org\}:[012]$/)
    await setTimeout(2 * leaseMs + 50)
    expect(await ioredis.keys('*fleet:org}*')).toEqual([])
  })

  it('processes of both libraries share one row of slots, through a restart of Redis and the leaving of one', async () => {
    const members = Array.from({ length: 4 }, (_, index) => join(clients[index % 2]?.client as RedisClient))
    await vi.waitFor(() => expectShares(members), { timeout: 5000, interval: 20 })

    server.kill('SIGKILL')
    await once(server, 'exit')
    await vi.waitFor(() => expect(members.map(({ troubles }) => troubles.length)).toEqual([1, 1, 1, 1]), 5000)
    expectShares(members)
    server = await startServer(port)
    await vi.waitFor(() => expect(members.every(({ renewedMs }) => performance.now() - renewedMs() < 100)).toBe(true), {
      timeout: 8000,
      interval: 20,
    })
    expectShares(members)

    await members.pop()?.fleet.close()
    await vi.waitFor(() => expectShares(members), { timeout: 5000, interval: 20 })
    const closedAtMs = performance.now()
    await Promise.all(members.map(({ fleet }) => fleet.close()))
    expect(performance.now() - closedAtMs).toBeLessThan(300)
    for (const { troubles } of members) expect(troubles).toHaveLength(1)
  })

  it('is no reason for a process to stay, nor for one whose Redis is not there', async () => {
    const run = (at: number) =>
      runScript(`
        import { Redis } from 'ioredis'
        import { Fleet } from '${new URL('../../src/org/fleet.ts', import.meta.url)}'
        const redis = new Redis({ port: ${at}, host: '127.0.0.1' }).on('error', () => {})
        const fleet = new Fleet({ redis, key: 'x', limitPerSecond: () => 5, onLease() {}, onTrouble() {}, leaseMs: 300 })
        fleet.start()
        setTimeout(async () => {
          await fleet.close()
          redis.disconnect()
        }, 500)
      `)
    for (const ended of await Promise.all([run(port), run(await freePort())])) {
      expect(ended).toMatchObject({ code: 0, stderr: '' })
      expect(ended.ms).toBeLessThan(5000)
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

/** Equal shares, and slots as far apart as the limit has them. */
function expectShares(members: readonly Member[]): void {
  const periodMs = members.length * slotMs
  const phases = members.map(({ lease }) => ((lease()?.firstSlotMs ?? 0) % periodMs) / slotMs).sort((a, b) => a - b)
  for (const { lease } of members) expect(lease()?.periodMs).toBeCloseTo(periodMs)
  for (const phase of phases.slice(1).map((phase, index) => phase - (phases[index] as number))) {
    expect(Math.abs(phase - 1)).toBeLessThan(0.2) // 10 ms
  }
}

/** Waits for the term after the one of `nowMs`, Redis' time, which is also ours here. */
async function nextTerm(nowMs: number): Promise<number> {
  const startMs = (Math.floor(nowMs / leaseMs) + 1) * leaseMs
  await setTimeout(startMs - Date.now() + 20)
  return startMs
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

async function startServer(port: number): Promise<ChildProcess> {
  const server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'])
  for await (const text of server.stdout) if (String(text).includes('Ready to accept')) break
  return server
}
