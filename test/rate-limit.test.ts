/** The behavior that users see if a service limits their requests: over real sockets, through the public interface. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createShipper, type LimitsOptions, type Shipper, type ShipperOptions } from '../src/index.ts'
import { startFaultServer } from './support/fault-server.ts'
import { type Shipping, startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

const dataset = (event: Readonly<Record<string, unknown>>) => `d${event.of}`

/** Logs an event to each of the datasets every 100 ms, until it is stopped. */
function logSteadily(shipper: Shipper, datasets: number): () => number {
  let logged = 0
  const timer = setInterval(() => {
    for (let of = 0; of < datasets; of++) if (shipper.ship({ level: 'info', of })) logged++
  }, 100)
  return () => {
    clearInterval(timer)
    return logged
  }
}

/** Refuses all requests for this time. */
async function refuseFor(ms: number, { emulator }: Shipping): Promise<void> {
  emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 429 })
  await sleep(ms)
  emulator.faults.clear()
}

const arrived = ({ emulator }: Shipping, datasets: number) =>
  Array.from({ length: datasets }, (_, of) => emulator.eventCount(`d${of}`)).reduce((sum, count) => sum + count, 0)

const limitsOf = ({ emulator }: Shipping, options: Partial<LimitsOptions> = {}) =>
  ({ orgId: emulator.orgId, accessToken: emulator.accessToken, ...options }) as LimitsOptions

const whenRead = (shipper: Shipper) => until(() => shipper.stats().limits?.readAt !== undefined, 'the license is read')

describe.concurrent('a service that refuses all requests for seconds without Retry-After', () => {
  const busy: ShipperOptions = { dataset, flushTimeoutMs: 2000, maxBatchAgeMs: 500 }

  it('20 datasets: all events are delivered within ten seconds, and none waits longer than before', {
    timeout: 60_000,
  }, async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship(busy)
    const stop = logSteadily(shipper, 20)
    await sleep(2000)
    await refuseFor(6000, shipping)
    const { requests } = shipper.stats()
    expect(requests).toBeLessThan(200)
    await sleep(10_000)
    // 20 datasets of ten events a second each. No event is much older than the maximum age of a batch.
    expect(shipper.stats().pending).toBeLessThan(20 * 10 * 2)
    const logged = stop()
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(arrived(shipping, 20)).toBe(logged)
  })

  it('close() right after it tries at once the events that only the learned rate holds back', {
    timeout: 60_000,
  }, async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship(busy)
    const stop = logSteadily(shipper, 20)
    await sleep(1500)
    await refuseFor(5000, shipping)
    const logged = stop()
    expect(await shipper.close({ timeoutMs: 2000 })).toEqual({ complete: true, pending: 0 })
    expect([arrived(shipping, 20), shipper.stats().dropped]).toEqual([logged, 0])
  })

  it('reading the license every second does not hold up delivery afterwards', { timeout: 60_000 }, async () => {
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } } })
    const shipper = shipping.ship({ ...busy, limits: limitsOf(shipping, { refreshMs: 1000 }) })
    await whenRead(shipper)
    const stop = logSteadily(shipper, 5)
    await sleep(1500)
    await refuseFor(6000, shipping)
    await sleep(6000)
    const before = arrived(shipping, 5)
    await sleep(3000)
    expect(arrived(shipping, 5) - before).toBeGreaterThan(5 * 10 * 3 * 0.7)
    stop()
  })
})

describe.concurrent('a service that tells nothing of its limit but 429', () => {
  it('delays close() by a second or two if it refuses one request of a hundred, which arrives later', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index === 3) request.answer('429 Too Many Requests')
      else request.take()
    })
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset })
    for (let n = 0; n < 100; n++) shipper.ship({ n, of: n })
    const startedMs = performance.now()
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(performance.now() - startedMs).toBeLessThan(5000)
    expect(new Set(server.numbers).size).toBe(100)
  })

  it('takes the events logged after close(), although the deadline of close() has passed', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index === 0) request.answer('429 Too Many Requests')
      else request.take()
    })
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset: 'd', maxBatchAgeMs: 50 })
    for (let n = 0; n < 3; n++) {
      shipper.ship({ n })
      await shipper.close({ timeoutMs: 300 })
      await sleep(400)
    }
    shipper.ship({ n: 3 })
    // The earlier events had 300 ms, which is too little on a busy machine.
    await until(() => server.numbers.includes(3), 'the last event arrives')
    await shipper.close()
  })
})

describe.concurrent('a Retry-After of a month', () => {
  it.each([
    ['requests', { apiRateLimitPerSecond: 50 }],
    ['bytes', { monthlyIngestGb: 50 }],
  ])('ends early if the license allows more %s than before', async (_, raised) => {
    const license = { apiRateLimitPerSecond: 20, monthlyIngestGb: 20 }
    await using shipping = await startShipping({ org: { license } })
    const { emulator } = shipping
    const shipper = shipping.ship({ maxBatchAgeMs: 50, limits: limitsOf(shipping, { refreshMs: 1000 }) })
    await whenRead(shipper)
    emulator.faults.answerNext(1, { status: 429, headers: { 'retry-after': '2592000' } })
    shipper.ship({ n: 1 })
    await until(() => shipping.warnings.length > 0, 'it is refused')
    expect(shipping.warnings[0]?.message).toMatch(/next request follows in 3\d{3} s/) // an hour, and up to a tenth more
    await sleep(1500)
    expect(emulator.eventCount('d')).toBe(0)
    emulator.changeOrg({ license: raised })
    await emulator.waitForEvents('d', 1, { timeoutMs: 3000 })
  })
})

describe.concurrent('events that the request rate holds back', () => {
  async function startSlow(license: { apiRateLimitPerSecond: number }, options: ShipperOptions = {}) {
    const shipping = await startShipping({ org: { license } })
    const shipper = shipping.ship({ dataset, ...options, limits: limitsOf(shipping) })
    await whenRead(shipper)
    return Object.assign(shipping, { shipper })
  }

  it('are dropped at the end with a warning that names the rate', async () => {
    await using slow = await startSlow({ apiRateLimitPerSecond: 1 })
    for (let of = 0; of < 20; of++) slow.shipper.ship({ of })
    await slow.shipper.close({ timeoutMs: 1500 })
    const { message } = slow.warnings.find(({ code }) => code === 'LOGFERRY_DROPPED') ?? {}
    expect(message).toMatch(
      /could not be delivered within 1500 ms.*the license allows this process 0\.98 requests per sec/,
    )
    expect(message).toMatch(/fewer datasets/)
    expect(message).not.toMatch(/service is slow/)
  })

  it('are reported by a flush that ends before them', async () => {
    await using slow = await startSlow({ apiRateLimitPerSecond: 1 })
    for (let of = 0; of < 20; of++) slow.shipper.ship({ of })
    expect(await slow.shipper.flush({ timeoutMs: 1500 })).toMatchObject({ complete: false })
    expect(slow.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_LIMITS'])
    expect(slow.warnings[0]?.message).toMatch(
      /events are waiting, because the license allows this process 0\.98 requests per second/,
    )
  })

  it('are not blamed if the service is unavailable', async () => {
    await using slow = await startSlow({ apiRateLimitPerSecond: 100 })
    slow.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    for (let of = 0; of < 20; of++) slow.shipper.ship({ of })
    await slow.shipper.close({ timeoutMs: 1500 })
    const { message } = slow.warnings.find(({ code }) => code === 'LOGFERRY_DROPPED') ?? {}
    expect(message).toMatch(/could not be delivered within 1500 ms \(the service answers 503 .*\)\. They are dropped\./)
  })

  it.each([429, 503])('name the answer that asked to wait, whatever came after it (%d)', async status => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.head.includes('/slow/')) return void setTimeout(() => request.take(), 200)
      request.answer(`${status} Later`, '', 'retry-after: 60')
    })
    const shipper = createShipper({ baseUrl: server.url, token: 't', dataset: ({ dataset }) => String(dataset) })
    const messages: string[] = []
    shipper.on('warning', ({ message }) => messages.push(message))
    for (const name of ['slow', 'quick']) shipper.ship({ dataset: name })
    await shipper.flush({ timeoutMs: 500 })
    expect(server.numbers).toHaveLength(1)
    await shipper.close({ timeoutMs: 200 })
    expect(messages.at(-1)).toMatch(`1 event could not be delivered within 200 ms (the service answers ${status} `)
  })

  it('are what the advice is about if the service answers 429 until the end', async () => {
    await using slow = await startSlow({ apiRateLimitPerSecond: 100 })
    slow.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 429, headers: { 'retry-after': '30' } })
    slow.shipper.ship({ of: 1 })
    await slow.shipper.flush({ timeoutMs: 300 })
    await slow.shipper.close({ timeoutMs: 300 })
    const { message } = slow.warnings.find(({ code }) => code === 'LOGFERRY_DROPPED') ?? {}
    expect(message).toMatch(/\(the service answers 429 .*\)\. It is dropped\. .*let fewer processes share the limit/)
    expect(message).not.toContain('certificates')
  })
})
