/**
 * A process of the fleet. It uses the built package as an application does, and logs what its orders ask for.
 * fleet-child.ts runs it, and talks to it over IPC.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createShipper, type Shipper, type ShipperOptions } from 'logferry'
import { randomFrom } from '../support/random.ts'
import type { ChildJob, ChildOrder, ChildReply, ClientOf } from './fleet-child.ts'

const { name, seed, demand, redis, options, limits, blocks, warmsUp, isCold } = JSON.parse(
  process.env.FLEET_JOB as string,
) as ChildJob
const random = randomFrom(seed)
const between = (minMs: number, maxMs: number) => minMs + (maxMs - minMs) * random()
/** Resolution of the measured delay, in milliseconds. Each process wakes up as often, which takes time from all others. */
const loopResolutionMs = 200
const loopDelay = monitorEventLoopDelay({ resolution: loopResolutionMs })
const client = redis && (await connect(redis))
let shipper: Shipper | undefined
let logged = 0
let settled = 0
let isEnding = false
const warnings = new Set<string>()

process.on('message', (order: ChildOrder) => {
  if (order.kind === 'go') go()
  else if (order.kind === 'measure') measure()
  else void end()
})
process.on('SIGTERM', () => void end())
process.on('disconnect', () => process.exit()) // at the end of the case, or if the harness has died
if (warmsUp) await warmUp()
reply({ kind: 'ready' })

function reply(message: ChildReply): void {
  process.send?.(message)
}

function go(): void {
  loopDelay.enable()
  reply({ kind: 'gone', atMs: Date.now() })
  shipper = createShipper({
    dataset: name,
    token: 'a-token-of-tests',
    compression: 'none',
    ...options,
    limits: { ...limits, accessToken: `reader-${name}`, ...(client && { fleet: { redis: client.redis } }) },
  })
  shipper.on('warning', ({ message }) => warnings.size < 20 && warnings.add(message))
  const settle = ({ count }: { readonly count: number }): void => {
    settled += count
    if (demand.kind === 'full') setImmediate(fill, demand.pendingEvents)
  }
  shipper.on('delivered', settle)
  shipper.on('dropped', settle)
  if (demand.kind === 'full') fill(demand.pendingEvents)
  else if (demand.kind === 'now and then') logNowAndThen(demand.minMs, demand.maxMs)
  else logSteadily(demand.eventsPerSecond)
  if (blocks !== undefined) setInterval(block, 1000)
}

function log(): void {
  shipper?.ship({ level: 'info', n: logged++, at: Date.now() })
}

function fill(pendingEvents: number): void {
  while (!isEnding && logged - settled < pendingEvents) log()
}

/** Logs the first event after a random part of the interval, so that processes started together do not log together. */
function logNowAndThen(minMs: number, maxMs: number): void {
  const next = (): void => {
    if (isEnding) return
    log()
    setTimeout(next, between(minMs, maxMs))
  }
  setTimeout(next, between(0, maxMs))
}

function logSteadily(eventsPerSecond: number): void {
  const startedAtMs = performance.now()
  const clock = setInterval(() => {
    if (isEnding) return clearInterval(clock)
    const due = Math.floor(((performance.now() - startedAtMs) / 1000) * eventsPerSecond)
    while (logged < due) log()
  }, 5)
}

/** Blocks the event loop without using the processor, which other processes need. */
function block(): void {
  const { minMs, maxMs } = blocks as NonNullable<typeof blocks>
  if (!isEnding) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, between(minMs, maxMs))
}

function measure(): void {
  const late = (ns: number) => Math.max(ns / 1e6 - loopResolutionMs, 0)
  reply({ kind: 'measured', lateMs: late(loopDelay.percentile(99)), maxLateMs: late(loopDelay.max) })
  loopDelay.reset()
}

async function end(): Promise<void> {
  if (isEnding) return
  isEnding = true
  await shipper?.close()
  const { dropped = 0, pending = 0 } = shipper?.stats() ?? {}
  client?.close()
  reply({ kind: 'ended', logged, dropped, pending, warnings: [...warnings] })
  process.disconnect()
}

/** Ships to a service and an organization of its own for a while, so that V8 has compiled what a start needs. */
async function warmUp(): Promise<void> {
  const { startEmulator } = await import('logferry/emulator')
  await using emulator = await startEmulator({ port: 0, org: { license: { apiRateLimitPerSecond: 1000 } } })
  const fleet = client && { redis: client.redis }
  for (let lives = 0; lives < 5; lives++) {
    const one = createShipper({
      ...options,
      baseUrl: emulator.url,
      dataset: name,
      token: emulator.token,
      compression: 'none',
      limits: { orgId: emulator.orgId, accessToken: emulator.accessToken, ...(fleet && { fleet }) },
    })
    for (let n = 0; n < 10; n++) one.ship({ level: 'info', n, at: Date.now() })
    await one.flush()
    await one.close()
  }
}

type FleetRedis = NonNullable<NonNullable<ShipperOptions['limits']>['fleet']>['redis']

/** Waits for a client to connect, unless the process begins meanwhile. */
async function connected(connecting: Promise<unknown>): Promise<void> {
  if (isCold) connecting.catch(() => {})
  else await connecting
}

/**
 * Connects as the README of each library shows. With `fast`, connects as an application that must not wait for Redis.
 */
async function connect({ library, settings, port }: ClientOf): Promise<{ redis: FleetRedis; close(): void }> {
  const isFast = settings === 'fast'
  const host = '127.0.0.1'
  const ignore = (): void => {} // the shipper says it if it matters
  if (library === 'ioredis') {
    const { Redis } = await import('ioredis')
    const fast = { enableOfflineQueue: false, maxRetriesPerRequest: 1 }
    const ioredis = new Redis({ port, host, lazyConnect: true, ...(isFast && fast) }).on('error', ignore)
    await connected(ioredis.connect())
    return { redis: ioredis, close: () => ioredis.disconnect() }
  }
  const { createClient } = await import('redis')
  const nodeRedis = createClient({ socket: { port, host }, disableOfflineQueue: isFast }).on('error', ignore)
  await connected(nodeRedis.connect())
  return { redis: nodeRedis, close: () => nodeRedis.destroy() }
}
