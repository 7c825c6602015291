import { setTimeout as sleep } from 'node:timers/promises'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { OrgOverrides } from '../src/emulator.ts'
import type { LimitsOptions, Shipper, ShipperOptions, Warning } from '../src/index.ts'
import { Budget } from '../src/org/budget.ts'
import { LogferryLogRecordProcessor } from '../src/otel.ts'
import { specifiedOrg, startAnswering, startService } from './org/service.ts'
import { type Shipping, startShipping } from './support/shipping.ts'
import { until } from './support/until.ts'

const range = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Creates a shipper that keeps to the license of an emulator that enforces it. */
async function startLimited(
  license: NonNullable<OrgOverrides['license']>,
  { limits, org, ...options }: ShipperOptions & { org?: OrgOverrides } = {},
) {
  const shipping = await startShipping({ org: { ...org, license }, enforce: true })
  const { orgId, accessToken } = shipping.emulator
  const shipper = shipping.ship({ ...options, limits: { orgId, accessToken, ...limits } as LimitsOptions })
  return Object.assign(shipping, { shipper })
}

/** Waits until the license has been read, or could not be read. */
async function whenRead(shipper: Shipper): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const { readAt, problem } = shipper.stats().limits ?? {}
    if (readAt !== undefined || problem !== undefined) return
    await sleep(10)
  }
  throw new Error('the license was not read')
}

const reads = ({ emulator }: Shipping) => emulator.requests().filter(({ dataset }) => dataset === undefined)
const ingests = ({ emulator }: Shipping) => emulator.requests().filter(({ dataset }) => dataset !== undefined)

/** A process compares its bytes with the license every ten seconds. The other tests run meanwhile. */
describe.concurrent('monthlyIngestGb', () => {
  it('use is in stats(), and warned of at 80 % and 95 %', { timeout: 30_000 }, async () => {
    await using limited = await startLimited({ monthlyIngestGb: 1 }, { limits: { share: 0.001 } })
    const { shipper, warnings } = limited
    await whenRead(shipper)
    for (const n of range(1000)) shipper.ship({ n, text: 'x'.repeat(960) })
    await shipper.flush()
    const { ingest } = shipper.stats().limits ?? {}
    expect(ingest?.bytes).toBe(1_000_000)
    expect(ingest?.usedBytes).toBeGreaterThan(950_000)
    while (warnings.length < 2) await sleep(50)
    expect(warnings.map(({ code, message }) => [code, message.slice(10, 40)])).toEqual([
      ['LOGFERRY_BUDGET', expect.stringContaining('80 % of the 0.001 GB')],
      ['LOGFERRY_BUDGET', expect.stringContaining('95 % of the 0.001 GB')],
    ])
  })

  it('a warning of its use names the three statements that cost most', { timeout: 30_000 }, async () => {
    await using limited = await startLimited({ monthlyIngestGb: 0.0001 })
    const { shipper, warnings } = limited
    await whenRead(shipper)
    for (const n of range(100)) {
      shipper.ship({ level: 'info', message: `order ${n} placed`, text: 'x'.repeat(2000) })
      shipper.ship({ level: 'info', message: `user "u${n}" left`, text: 'x'.repeat(500) })
      shipper.ship({ level: 'error', message: 'failed', text: 'x'.repeat(200) })
      shipper.ship({ level: 'debug', message: 'detail' })
    }
    const isOfBudget = ({ code }: Warning) => code === 'LOGFERRY_BUDGET'
    while (!warnings.some(isOfBudget)) await sleep(50)
    expect(warnings.find(isOfBudget)?.message).toMatch(
      /are used\..* Of the bytes that this process has logged, \d+ % are info "order \* placed", \d+ % are info "user \* left", \d+ % are error "failed"\.$/,
    )
  })
})

describe.concurrent('apiRateLimitPerSecond', () => {
  it.each([
    [1, [1]],
    [1000, [2, 3]], // 2 on a busy machine
  ])(
    'of %d: reads of the license take at most a tenth of it, even if configured every second',
    async (limit, counts) => {
      await using limited = await startLimited({ apiRateLimitPerSecond: limit }, { limits: { refreshMs: 1000 } })
      await whenRead(limited.shipper)
      await sleep(2500)
      expect(counts).toContain(reads(limited).length)
    },
  )

  it('share is the part of this process', async () => {
    await using limited = await startLimited({ apiRateLimitPerSecond: 100 }, { limits: { share: 0.25 } })
    await whenRead(limited.shipper)
    const { requestsPerSecond } = limited.shipper.stats()
    expect(requestsPerSecond).toBeGreaterThan(24)
    expect(requestsPerSecond).toBeLessThanOrEqual(25)
  })

  it('a 429 is no reason to advise the option limits, which is set', async () => {
    await using limited = await startLimited({ apiRateLimitPerSecond: 50 })
    const { shipper, warnings, emulator } = limited
    await whenRead(shipper)
    emulator.faults.answerNext(1, { status: 429, headers: { 'retry-after': '1' } })
    shipper.ship({ n: 1 })
    await shipper.flush()
    const messages = warnings.map(({ message }) => message)
    expect(messages).toContainEqual(expect.stringMatching(/rate limit is reached .*or raise the limit\.$/))
  })

  it('is read again after refreshMs, and changes apply', async () => {
    await using limited = await startLimited({ apiRateLimitPerSecond: 100 }, { limits: { refreshMs: 1000 } })
    await whenRead(limited.shipper)
    limited.emulator.changeOrg({ license: { apiRateLimitPerSecond: 10 } })
    while (limited.shipper.stats().requestsPerSecond > 10) await sleep(20)
    expect(limited.shipper.stats().limits).toMatchObject({ because: 'license' })
  })
})

it('a function for the access token that fails is named, with what its error says', async () => {
  await using shipping = await startShipping()
  const accessToken = async () => Promise.reject(new Error('the vault is sealed'))
  shipping.ship({ limits: { orgId: 'o', accessToken } })
  await vi.waitFor(() => expect(shipping.warnings).toHaveLength(1), 5000)
  expect(shipping.warnings[0]?.message).toMatch(
    /the accessToken function failed: the vault is sealed\)\. .* Check the function limits\.accessToken\.$/,
  )
})

describe.concurrent('a fleet whose Redis gives impossible answers', () => {
  it.each([
    ['no process', () => [Date.now(), 0, 0, 1]],
    ['a billion processes', () => [Date.now(), 1e9, 5, 1e9]],
    ['Infinity', () => [Date.now(), Number.POSITIVE_INFINITY, 0, 1]],
    ['no number', () => [Number.NaN, 'many', 0, 1]],
    ['a long text', () => 'x'.repeat(1_000_000)],
  ])('does not hold up delivery: %s', async (_, answer) => {
    await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 50 } } })
    const { orgId, accessToken } = shipping.emulator
    const redis = { call: async () => 0, eval: async () => answer() }
    const shipper = shipping.ship({ limits: { orgId, accessToken, fleet: { redis } } as LimitsOptions })
    await vi.waitFor(() => expect(shipping.warnings).toHaveLength(1), 5000)
    for (let n = 0; n < 10; n++) {
      shipper.ship({ n })
      expect(await shipper.flush({ timeoutMs: 5000 })).toEqual({ complete: true, pending: 0 })
    }
    expect(shipping.warnings).toEqual([expect.objectContaining({ code: 'LOGFERRY_LIMITS', suppressed: 0 })])
    expect(shipping.warnings[0]?.message).toMatch(/the Redis of limits\.fleet cannot be used .{1,200} Until it can/)
  })
})

it('one process of a machine reads the license for all of a fleet whose Redis is away', async () => {
  await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 50 } } })
  const { orgId, accessToken } = shipping.emulator
  const away = async () => Promise.reject(new Error('connect ECONNREFUSED'))
  const limits = { orgId, accessToken, fleet: { redis: { call: away, eval: away } } } as LimitsOptions
  const shippers = [1, 2, 3].map(() => shipping.ship({ limits }))
  await vi.waitFor(() => {
    for (const shipper of shippers) expect(shipper.stats().limits).toMatchObject({ readAt: expect.any(String) })
  }, 10_000)
  expect(shipping.emulator.requests().filter(({ method }) => method === 'GET')).toHaveLength(1)
})

it('a process loads its HTTP client before the slot of its first request, not after it', async () => {
  await using shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 50 } } })
  const { orgId, accessToken } = shipping.emulator
  const silent = () => new Promise<never>(() => {})
  const makesAgent = vi.spyOn(process.getBuiltinModule('node:http'), 'Agent')
  onTestFinished(() => makesAgent.mockRestore())
  const limits = { orgId, accessToken, fleet: { redis: { call: silent, eval: silent } } } as LimitsOptions
  shipping.ship({ maxBatchAgeMs: 50, limits }).ship({ n: 1 })
  await vi.waitFor(() => expect(makesAgent).toHaveBeenCalled(), 1000)
  expect(shipping.emulator.requests()).toEqual([])
})

it('an HTTP client that cannot be loaded does not throw into the log call', async () => {
  await using shipping = await startShipping()
  class Missing {
    constructor() {
      throw new Error('no agents in this test')
    }
  }
  const makesAgent = vi.spyOn(process.getBuiltinModule('node:http'), 'Agent').mockImplementation(Missing as never)
  onTestFinished(() => makesAgent.mockRestore())
  const shipper = shipping.ship({ maxBatchEvents: 1 })
  shipper.ship({ n: 1 })
  await vi.waitFor(() => expect(makesAgent).toHaveBeenCalled(), 1000)
  makesAgent.mockRestore()
  expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
})

describe.concurrent('maxFields', () => {
  it('256 with 2,000 distinct keys: no event is refused, and every value can be found', async () => {
    await using limited = await startLimited({ maxFields: 256 })
    const { shipper, emulator, warnings } = limited
    await whenRead(shipper)
    for (const n of range(2000)) shipper.ship({ level: 'info', message: 'm', user: { [`key${n}`]: `value-${n}-` } })
    await shipper.close()
    expect(shipper.stats()).toMatchObject({ delivered: 2000, dropped: 0 })
    const lines = emulator.lines('d').join('\n')
    for (const n of range(2000)) if (!lines.includes(`value-${n}-`)) expect.fail(`value ${n} is lost`)
    const over = warnings.filter(({ code }) => code === 'LOGFERRY_LICENSE')
    expect(over).toHaveLength(1)
    expect(over[0]?.message).toMatch(/maxFields: 256.*"user\.key\d+" and later new fields go into the field "overflow"/)
    expect(shipper.stats().limits).toMatchObject({ maxFields: 256 })
  })

  it('counts the fields of OpenTelemetry’s resource and scope, and folds into overflowField', async () => {
    await using limited = await startLimited({ maxFields: 30 }, { limits: { overflowField: 'rest' } })
    const { shipper, emulator } = limited
    await whenRead(shipper)
    const resource = resourceFromAttributes(Object.fromEntries(range(10).map(n => [`service.r${n}`, n])))
    const provider = new LoggerProvider({ resource, processors: [new LogferryLogRecordProcessor({ shipper })] })
    for (const n of range(200))
      provider.getLogger('x', '1').emit({ body: 'm', attributes: { [`key.${n}`]: `value-${n}-` } })
    await shipper.close()
    expect(shipper.stats()).toMatchObject({ delivered: 200, dropped: 0 })
    expect(emulator.events('d').at(-1)).toMatchObject({ rest: '{"attributes.key.199":"value-199-"}' })
  })
})

describe.concurrent('other fields of the license', () => {
  it.each<[string, OrgOverrides, RegExp]>([
    ['expiresAt', { license: { expiresAt: '2026-01-01T00:00:00Z' } }, /license expired at 2026-01-01/],
    ['paymentStatus', { paymentStatus: 'failed' }, /payment status is failed/],
    ['regions', { license: { regions: ['us'] } }, /configured region is eu, but the license is for us/],
  ])('%s: causes a warning', async (_, org, message) => {
    await using shipping = await startShipping({ org })
    const { orgId, accessToken } = shipping.emulator
    const shipper = shipping.ship({ region: 'eu', limits: { orgId, accessToken } })
    await whenRead(shipper)
    expect(shipping.warnings.map(warning => warning.message).join()).toMatch(message)
    expect(shipping.warnings.map(({ code }) => code)).toContain('LOGFERRY_LICENSE')
  })
})

/** Returns the limits in force if the service answers an organization with these fields. */
async function readWith({ license, ...fields }: { license?: object }) {
  await using shipping = await startShipping()
  const whole = { apiRateLimitPerSecond: 40, maxFields: 20, monthlyIngestGb: 5 }
  const org = { ...specifiedOrg, ...fields, license: Array.isArray(license) ? license : { ...whole, ...license } }
  await using service = await startAnswering(200, org)
  const shipper = shipping.ship({ baseUrl: service.url, limits: { orgId: 'acme', accessToken: 'a' } })
  await whenRead(shipper)
  return shipper.stats().limits
}

describe.concurrent('a license that cannot be read', () => {
  it('causes one warning, and delivery continues', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ limits: { orgId: shipping.emulator.orgId } }) // the API token may not read it
    shipper.ship({ n: 1 })
    await whenRead(shipper)
    expect(await shipper.flush()).toEqual({ complete: true, pending: 0 })
    expect(shipping.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_LIMITS'])
    expect(shipping.warnings[0]?.message).toMatch(
      /could not be read \(UNAUTHORIZED.*limits\.orgId, and that the token may read/,
    )
    expect(shipper.stats().limits).toMatchObject({
      readAt: undefined,
      problem: expect.stringContaining('UNAUTHORIZED'),
    })
  })

  it('is asked for once by shippers of one machine that start together with one token, each of which warns', async () => {
    await using shipping = await startShipping()
    const shippers = range(8).map(() =>
      shipping.ship({ maxBatchAgeMs: 50, limits: { orgId: shipping.emulator.orgId } }),
    )
    for (const shipper of shippers) shipper.ship({ n: 1 })
    await Promise.all(shippers.map(whenRead))
    expect(reads(shipping)).toHaveLength(1)
    expect(shipping.warnings.map(({ message }) => message)).toEqual(range(8).map(() => shipping.warnings[0]?.message))
    expect(shipping.warnings[0]?.message).toMatch(/UNAUTHORIZED.*status 403/)
  })

  it('does not hold up the first request, however often the process logs', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxBatchAgeMs: 50, limits: { orgId: shipping.emulator.orgId } })
    for (let n = 0; shipper.stats().delivered === 0; n++) {
      shipper.ship({ n })
      await sleep(10)
      expect(n).toBeLessThan(500)
    }
  })

  it('because the rate is used up causes a warning that does not blame the token', async () => {
    await using shipping = await startShipping()
    await using service = await startAnswering(429, {}, { 'retry-after': '0' })
    shipping.ship({ baseUrl: service.url, limits: { orgId: 'o', accessToken: 'a', refreshMs: 1000 } })
    await until(() => shipping.warnings.length > 0, 'a warning', 10_000)
    const message = shipping.warnings[0]?.message
    expect(message).toMatch(/could not be read \(RATE_LIMITED.*status 429.*It is read again in 1 s\.$/)
    expect(message).not.toMatch(/token|orgId/)
  })

  it.each<[string, object]>([
    ['maxMonitors', { license: { maxMonitors: 1.5 } }],
    ['issuedAt', { license: { issuedAt: '' } }],
    ['withAuths', { license: { withAuths: [1] } }],
    ['planCreated', { planCreated: 5 }],
    ['half a gigabyte', { license: { monthlyIngestGb: 0.5 } }],
  ])('is not assumed if an unused field is invalid: %s', async (_, fields) => {
    expect(await readWith(fields)).toMatchObject({ problem: undefined, maxFields: 20 })
  })

  const times = ['validFrom', 'expiresAt', 'billingPeriodStart', 'billingPeriodEnd']
  it.each<[string, unknown]>([
    ...times.map(field => [field, 5] as [string, unknown]),
    ['defaultRegion', 5],
    ['regions', ['eu', 1]],
    ['regions', 'eu'],
    ['apiRateLimitPerSecond', '40'],
    ['apiRateLimitPerSecond', 0.5],
    ['monthlyIngestGb', 'much'],
    ['maxFields', 1.5],
    ['maxDatasets', {}],
    ['paymentStatus', 5],
    ['firstFailedPayment', []],
  ])('is not assumed if a used field is invalid, which is ignored: %s', async (field, value) => {
    const isOfOrg = field === 'paymentStatus' || field === 'firstFailedPayment'
    const name = isOfOrg ? field : `license.${field}`
    const limits = await readWith(isOfOrg ? { [field]: value } : { license: { [field]: value } })
    expect(limits?.problem).toContain(`${name}`)
    expect(limits?.readAt).toEqual(expect.any(String))
    const rate = field === 'apiRateLimitPerSecond' ? undefined : expect.closeTo(40, -1)
    expect(limits?.requestsPerSecond).toEqual(rate)
    expect(limits?.maxFields).toBe(field === 'maxFields' ? undefined : 20)
    expect(limits?.ingest?.bytes).toBe(field === 'monthlyIngestGb' ? undefined : 5e9)
  })

  it('is assumed if the organization has no license', async () => {
    expect((await readWith({ license: [] }))?.problem).toContain('license: expected an object')
  })

  it('delays neither a log call nor the end of the process', async () => {
    await using shipping = await startShipping()
    const never = () => new Promise<string>(() => {})
    const shipper = shipping.ship({ limits: { orgId: 'o', accessToken: never } })
    const startedAt = performance.now()
    for (const n of range(1000)) shipper.ship({ n })
    expect(performance.now() - startedAt).toBeLessThan(500)
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(performance.now() - startedAt).toBeLessThan(3000)
  })
})

describe.concurrent('close()', () => {
  const limitsAt = (baseUrl: string): ShipperOptions => ({
    baseUrl,
    limits: { orgId: 'acme', accessToken: 'a', refreshMs: 1000 },
  })

  it.each([0, 5, 100])(
    'ends the reading of the license, %d ms after its start, without further requests or warnings',
    async ms => {
      await using shipping = await startShipping()
      await using service = await startService(() => {}) // a service that never answers
      const shipper = shipping.ship(limitsAt(service.url))
      await sleep(ms)
      await shipper.close()
      await sleep(300) // time for requests in transit to arrive
      const { length } = service.requests
      await sleep(1500)
      expect(service.requests).toHaveLength(length)
      expect(shipping.warnings).toEqual([])
    },
  )

  it('does not wait for the Retry-After of the organization', async () => {
    await using shipping = await startShipping()
    await using service = await startAnswering(503, {}, { 'retry-after': '5' })
    const shipper = shipping.ship(limitsAt(service.url))
    while (service.requests.length === 0) await sleep(10)
    await sleep(50)
    const startedAtMs = performance.now()
    await shipper.close()
    expect(performance.now() - startedAtMs).toBeLessThan(500)
    expect(shipping.warnings).toEqual([])
  })
})

/** A request that the emulator answers late may be one too many in its second, so no other test runs beside these. */
describe('a low apiRateLimitPerSecond', () => {
  it('5 per second, 20,000 events per second for 4 s: no event is lost, few requests are refused, and the rate holds', {
    timeout: 60_000,
  }, async () => {
    await using limited = await startLimited({ apiRateLimitPerSecond: 5 })
    const { shipper, emulator } = limited
    await whenRead(shipper)
    const startedAtMs = performance.now()
    let logged = 0
    while (logged < 80_000) {
      const due = Math.min(80_000, Math.floor((performance.now() - startedAtMs) * 20))
      while (logged < due) shipper.ship({ level: 'info', message: 'order placed', n: logged++, text: 'x'.repeat(400) })
      await sleep(5)
    }
    const times = ingests(limited)
      .map(({ atMs }) => atMs)
      .slice(1)
    expect(await shipper.flush({ timeoutMs: 15_000 })).toEqual({ complete: true, pending: 0 })
    expect(emulator.eventCount('d')).toBe(80_000)
    expect(shipper.stats().dropped).toBe(0)
    // No refusal on a quiet machine. Beside other tests, a request may reach the emulator late, in a second that is
    // full, and the process slows down. simulation.test.ts shows on a virtual clock that one process alone uses the
    // whole rate.
    expect(emulator.stats().refusedByLimit.apiRateLimitPerSecond).toBeLessThanOrEqual(2)
    const rate = ((times.length - 1) / ((times.at(-1) as number) - (times[0] as number))) * 1000
    expect(rate).toBeGreaterThan(1.5)
    expect(rate).toBeLessThanOrEqual(5.2) // the first request may arrive late, and the last one in time
  })

  it('also counts reads of the license', async () => {
    await using limited = await startLimited({ apiRateLimitPerSecond: 1 })
    const { shipper, emulator } = limited
    await whenRead(shipper)
    shipper.ship({ n: 1 })
    await shipper.flush()
    expect(emulator.eventCount('d')).toBe(1)
    expect(emulator.stats().refusedByLimit.apiRateLimitPerSecond).toBe(0)
  })
})

describe('onBudget: shed', () => {
  it('marks sampled events of every kind, and keeps their fields', async () => {
    await using limited = await startLimited({ monthlyIngestGb: 1 }, { limits: { onBudget: 'shed' } })
    const { shipper, emulator } = limited
    await whenRead(shipper)
    const kept = vi.spyOn(Budget.prototype, 'kept').mockReturnValue(0.999_999)
    onTestFinished(() => kept.mockRestore())
    class Order {
      #total = 99.5
      toJSON() {
        return { total: this.#total }
      }
    }
    const throwing = {
      n: 1,
      get bad() {
        throw new Error('no')
      },
    }
    for (const event of [throwing, new Error('boom'), new Order()]) shipper.ship(event as never)
    await shipper.flush()
    const logferry = { sampling_rate: 1 }
    expect(emulator.events('d')).toMatchObject([
      { n: 1, bad: expect.stringContaining('Throws'), logferry },
      { name: 'Error', message: 'boom', stack: expect.any(String), logferry },
      { total: 99.5, logferry },
    ])
  })
})

describe.concurrent('options of limits', () => {
  it.each<[string, unknown, RegExp]>([
    ['no organization', {}, /`limits\.orgId` must be .*; got nothing/],
    ['a share of zero', { orgId: 'o', share: 0 }, /`limits\.share` must be a number above 0, up to 1; got 0/],
    ['a share over one', { orgId: 'o', share: 2 }, /`limits\.share`/],
    ['a refresh too quick', { orgId: 'o', refreshMs: 10 }, /`limits\.refreshMs` must be an integer from 1000/],
    ['a policy unknown', { orgId: 'o', onBudget: 'stop' }, /`limits\.onBudget` must be 'warn' or 'shed'/],
    ['an overflow field without a name', { orgId: 'o', overflowField: '' }, /`limits\.overflowField`/],
    ['a fleet without Redis', { orgId: 'o', fleet: {} }, /`limits\.fleet\.redis` must be a client of .*; got nothing/],
    [
      'a token with a line break',
      { orgId: 'o', accessToken: 'secret\n' },
      /`limits\.accessToken` must be a token.*not shown/,
    ],
    ['an unknown name', { orgId: 'o', rate: 5 }, /`limits\.rate`/],
    ['a text', 'o', /`limits` must be an object/],
  ])('%s', async (_, limits, message) => {
    await using shipping = await startShipping()
    expect(() => shipping.ship({ limits: limits as LimitsOptions })).toThrow(message)
  })
})
