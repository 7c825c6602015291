import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { agreedRate, placeInLine, RateAgreement, rateOfLargest } from '../../src/delivery/rate-agreement.ts'
import { RateExchange, type RateExchangeDeps, type SharedRates } from '../../src/delivery/rate-exchange.ts'
import { RateLimiter, type SharedRate } from '../../src/delivery/rate-limiter.ts'
import type { Shipper, ShipperOptions } from '../../src/index.ts'
import { resolveOptions } from '../../src/options/resolve.ts'
import type { ResolvedRates } from '../../src/options/resolved-options.ts'
import { rateTableOf } from '../../src/shipper/rate-exchange-of.ts'
import { type Shipping, startShipping } from '../support/shipping.ts'
import { until } from '../support/until.ts'

function rate(requestsPerSecond: number, more: Partial<SharedRate> = {}): SharedRate {
  return {
    requestsPerSecond,
    refusedPart: 0.01,
    sinceRefusedMs: 1000,
    acceptedPerSecond: requestsPerSecond,
    refusedPerSecond: 0,
    sinceAcceptedMs: 100,
    isTrial: false,
    isMaximum: false,
    nextStartMs: 0,
    ...more,
  }
}

describe('the rate on which processes agree', () => {
  const unknown = Number.POSITIVE_INFINITY
  const trial = (perSecond: number) => rate(perSecond, { isTrial: true })
  const maximum = (perSecond: number) => rate(perSecond, { isMaximum: true })

  it('is the mean of their rates, with the mean of what is refused, and the last 429 of any of them', () => {
    const others = [rate(1, { refusedPart: 0.04, sinceRefusedMs: 50 }), rate(7)]
    const agreed = agreedRate(rate(10), others, unknown)
    expect(agreed).toEqual({ requestsPerSecond: 6, refusedPart: 0.02, sinceRefusedMs: 50 })
  })

  it('is together no more than the limit', () => {
    expect(agreedRate(rate(20), [rate(20), rate(20)], 30)?.requestsPerSecond).toBe(10)
    expect(agreedRate(trial(20), [trial(10)], 30)?.requestsPerSecond).toBe(15)
    expect(agreedRate(trial(10), [trial(20)], 30)).toBeUndefined()
    expect(agreedRate(trial(20), [trial(10), trial(5)], 30)?.requestsPerSecond).toBe(10)
  })

  it('counts a newcomer with the rate that it tries', () => {
    expect(agreedRate(trial(2), [rate(38)], unknown)?.requestsPerSecond).toBe(20)
  })

  it('does not exist for one process alone, or among trials, which must go on', () => {
    expect(agreedRate(rate(10), [], 5)).toBeUndefined()
    expect(agreedRate(trial(1), [trial(2)], unknown)).toBeUndefined()
  })

  it('leaves out processes that may have no more, and what they have, but not those that have more than others', () => {
    expect(agreedRate(rate(10), [maximum(1), rate(20)], unknown)?.requestsPerSecond).toBe(15)
    expect(agreedRate(rate(10), [maximum(1), rate(20)], 21)?.requestsPerSecond).toBe(10)
    expect(agreedRate(maximum(1), [rate(10), rate(20)], unknown)).toBeUndefined()
    expect(agreedRate(rate(10), [maximum(1)], unknown)).toBeUndefined()
    expect(agreedRate(rate(2), [maximum(38)], unknown)?.requestsPerSecond).toBe(20)
    expect(agreedRate(maximum(38), [rate(2)], unknown)?.requestsPerSecond).toBe(20)
  })
})

describe('the rate of a process that nothing holds back', () => {
  const calm = (perSecond: number, more: Partial<SharedRate> = {}) => rate(perSecond, { sinceRefusedMs: 6000, ...more })
  it.each<[string, number, readonly SharedRate[], number | undefined]>([
    ['is the mean if others are held back to much less', 345, [calm(68), calm(68), calm(68)], 137.25],
    ['is within the limit', 1400, [calm(400)], 490],
    ['stays if it is about that of the others', 80, [calm(68), calm(68)], undefined],
    ['stays if there are no others', 345, [], undefined],
    ['stays if the others may have no more', 345, [calm(68, { isMaximum: true })], undefined],
    ['stays as long as requests are refused', 345, [calm(68), rate(68)], undefined],
  ])('%s', (_, used, others, expected) => {
    expect(rateOfLargest(used, others, 980)?.requestsPerSecond).toBe(expected)
  })
})

describe('the turns of processes that agree', () => {
  const due = (nextStartMs: number) => rate(0.5, { nextStartMs })

  it('are at equal distances within an interval, in the order of the next requests', () => {
    const starts = [1900, 100, 130, 1200, 3100] // the last one is 1100 of the interval of two seconds
    const turns = starts.map((start, i) => {
      const others = starts.filter((_, j) => j !== i)
      return start + (agreedRate(due(start), others.map(due), 2.5)?.turn?.moveMs ?? Number.NaN)
    })
    const inInterval = turns.map(ms => ms % 2000).sort((one, other) => one - other)
    const [first = Number.NaN] = inInterval
    expect(inInterval.map(ms => Math.round(ms - first))).toEqual([0, 400, 800, 1200, 1600])
    const order = (times: readonly number[]) => times.map((_, i) => i).sort((i, j) => (times[i] ?? 0) - (times[j] ?? 0))
    expect(order(turns)).toEqual(order(starts))
    const moved = turns.map((ms, i) => ms - (starts[i] ?? 0))
    expect(moved.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(0)
  })

  it('stay where they are once the distances are equal, also if others have started since', () => {
    const turn = (own: number, others: readonly number[]) => agreedRate(due(own), others.map(due), 2)?.turn
    expect(turn(900, [-600, -100, 2400])).toEqual({ moveMs: 0, distanceMs: 500, maxPerSecond: 0.5 })
  })

  it.each<[string, number, SharedRate]>([
    ['no limit is known', Number.POSITIVE_INFINITY, rate(10)],
    ['they use less than the limit, because other machines use it', 24, rate(10)],
    ['they would be too close to each other', 300, rate(150)],
  ])('do not exist if %s', (_, limitPerSecond, one) => {
    expect(agreedRate(one, [one], limitPerSecond)).toMatchObject({ turn: undefined })
  })
})

describe('the place of a process that makes its first request', () => {
  const waiting = (nextStartMs: number) => rate(1, { sinceAcceptedMs: Number.POSITIVE_INFINITY, nextStartMs })
  it.each<[string, readonly SharedRate[], number]>([
    ['is after those that wait for theirs', [waiting(10), waiting(200)], 400],
    ['is one distance after the last request', [rate(1, { sinceAcceptedMs: 50 })], 150],
    ['is not after those that should have made theirs, but have ended', [waiting(-600), waiting(-700)], 0],
  ])('%s', (_, others, expectedMs) => {
    expect(placeInLine(others, 5).turn.moveMs).toBe(expectedMs)
  })
})

describe('the rate on which processes agree, exchange by exchange,', () => {
  const calm = (requestsPerSecond: number, sinceRefusedMs = 6000) => rate(requestsPerSecond, { sinceRefusedMs })
  const agreement = (one: SharedRate, limitPerSecond: number, headersTellRemaining = false) =>
    new RateAgreement().among(0, { own: one, others: [one], limitPerSecond, headersTellRemaining })?.requestsPerSecond

  it.each<[string, number, SharedRate, number]>([
    ['grows if nobody was refused for some time', 23.84, calm(20), 80],
    ['grows more after that', 14, calm(10, 30_000), 40],
    ['stays within the limit', 20.5, calm(20), 41],
    ['stays if no limit is known', 20, calm(20), Number.POSITIVE_INFINITY],
    ['stays for some seconds', 20, calm(20, 5900), 80],
    ['stays until many requests have been made', 1, calm(1, 99_000), 40],
    ['grows after many requests', 1.16, calm(1, 100_000), 40],
  ])('%s', (_, expected, one, limitPerSecond) => {
    expect(agreement(one, limitPerSecond)).toBeCloseTo(expected)
  })

  it('stays if headers tell the rest of the limit', () => {
    expect(agreement(calm(10), 40, true)).toBe(10)
  })

  it('grows by what others used that have gone, unless somebody was refused or that was long ago', () => {
    const agreedAfter = (ms: number, own: SharedRate, others: readonly SharedRate[] = []) => {
      const rates = new RateAgreement()
      const limit = { limitPerSecond: 40, headersTellRemaining: true }
      rates.among(0, { own: rate(2), others: [rate(2), rate(2), rate(2)], ...limit })
      return rates.among(ms, { own, others, ...limit })?.requestsPerSecond
    }
    expect(agreedAfter(5000, calm(2, 3000))).toBe(8)
    expect(agreedAfter(5000, calm(2, 3000), [calm(2, 3000)])).toBe(4)
    expect(agreedAfter(5000, calm(2, 2900))).toBeUndefined()
    expect(agreedAfter(15_001, calm(2))).toBeUndefined()
  })
})

describe('shippers on one machine', () => {
  let directory: string
  let shipping: Shipping
  beforeEach(async () => {
    directory = join(fs.mkdtempSync(join(tmpdir(), 'logferry-rates-')), 'rates')
    shipping = await startShipping({ org: { license: { apiRateLimitPerSecond: 20 } }, enforce: true })
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    await shipping[Symbol.asyncDispose]()
    fs.rmSync(join(directory, '..'), { recursive: true, force: true })
  })

  /** Logs more than the limit carries, until the shipper is closed. */
  function busy(options: Omit<ShipperOptions, 'baseUrl'> = {}): Shipper {
    const shipper = shipping.ship({ maxBatchEvents: 1, maxBatchAgeMs: 10, rateDirectory: directory, ...options })
    const timer = setInterval(() => {
      for (let n = 0; n < 20; n++) shipper.ship({ n })
    }, 50)
    shipper.on('dropped', () => clearInterval(timer))
    return shipper
  }

  /** True if the rate is below that of the license, times the part of it that is used. */
  function isThrottled(shipper: Shipper): boolean {
    return shipper.stats().requestsPerSecond < 19
  }

  function spread(shippers: readonly Shipper[]): number {
    const rates = shippers.map(shipper => shipper.stats().requestsPerSecond)
    return Math.max(...rates) / Math.min(...rates)
  }

  it('agree on equal rates, although one came first', async () => {
    const first = busy()
    await until(() => first.stats().requestsPerSecond < Number.POSITIVE_INFINITY, 'the first one knows the limit')
    const shippers = [first, busy(), busy()]
    const haveMet = () => shippers.every(shipper => shipper.stats().rateSharers === 3)
    await until(() => haveMet() && spread(shippers) < 1.3, 'equal rates', 20_000)
    expect(fs.readdirSync(directory)).toEqual([expect.stringMatching(/^[\da-f]{32}\.rates$/)])
    expect(shipping.warnings.filter(({ message }) => message.includes('request rates'))).toEqual([])
  })

  it('write nothing while the service refuses nothing', async () => {
    await using free = await startShipping()
    const shipper = free.ship({ maxBatchEvents: 1, rateDirectory: directory })
    for (let n = 0; n < 100; n++) shipper.ship({ n })
    await shipper.flush()
    expect(fs.existsSync(directory)).toBe(false)
  })

  it('of which one is alone write nothing, unless a request is refused because a busy machine has delayed others', async () => {
    const shipper = busy()
    await until(() => shipper.stats().delivered > 60, 'three seconds at the limit')
    const wasRefused = shipping.emulator.requests().some(({ status }) => status === 429)
    expect(wasRefused || !fs.existsSync(directory)).toBe(true)
  })

  it.each([
    ['rateDirectory is false', { rateDirectory: false } as const],
    ['their directories differ', {}],
  ])('adapt alone if %s', async (_, options) => {
    const shippers = [busy(options), busy({ rateDirectory: join(directory, 'other'), ...options })]
    await until(() => shippers.every(isThrottled), 'both are held back')
    await sleep(2500)
    expect(shippers.map(shipper => shipper.stats().rateSharers)).toEqual([1, 1])
    expect(fs.existsSync(directory)).toBe(!('rateDirectory' in options))
  })

  it.each<[string, ShipperOptions['rateDirectory'] | undefined, number]>([
    ['one of them', undefined, 1],
    ['each of them if they exchange nothing', false, 10],
  ])('that start at the same time let the license be read by %s', async (_, rateDirectory, reads) => {
    const { orgId, accessToken } = shipping.emulator
    const limits = { orgId, accessToken }
    const shippers = Array.from({ length: 10 }, () =>
      shipping.ship({ rateDirectory: rateDirectory ?? directory, limits }),
    )
    const allowed = () => shippers.map(shipper => shipper.stats().limits?.requestsPerSecond)
    await until(() => allowed().every(perSecond => perSecond !== undefined), 'all know the limit')
    expect(allowed()).toEqual(shippers.map(() => 20 * 0.98))
    expect(shipping.emulator.requests().filter(({ path }) => path.includes('/orgs/'))).toHaveLength(reads)
  })

  it.each<[string, (() => Promise<never>) | undefined]>([
    ['', undefined],
    [', also if the Redis of their fleet is away', () => Promise.reject(new Error('connect ECONNREFUSED'))],
    [', also if the Redis of their fleet does not answer', () => new Promise(() => {})],
  ])('that start at the same time make their first requests one after another%s', async (_, away) => {
    const fleet = away && { redis: { call: away, eval: away } }
    const { orgId, accessToken } = shipping.emulator
    shipping.emulator.changeOrg({ license: { apiRateLimitPerSecond: 5 } })
    const limits = { orgId, accessToken, ...(fleet && { fleet }) }
    for (let n = 0; n < 8; n++) {
      const shipper = shipping.ship({ rateDirectory: directory, limits, maxBatchAgeMs: 10 })
      shipper.ship({ n })
    }
    await until(() => shipping.emulator.lines('d').length === 8, 'all events have arrived')
    // The first process does not know of the others when it starts.
    expect(shipping.emulator.stats().answers['429'] ?? 0).toBeLessThanOrEqual(2)
    const requests = shipping.emulator.requests().filter(({ path }) => path.includes('/ingest'))
    const times = requests.map(({ atMs }) => atMs)
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(1000) // at least 6 intervals of 204 ms
  })

  it('warn that the given directory cannot be used, with a remedy, and adapt alone', async () => {
    fs.writeFileSync(directory, '')
    const shippers = [busy(), busy()]
    const warnings = () => shipping.warnings.filter(({ code }) => code === 'LOGFERRY_LIMITS')
    await until(() => warnings().length > 0, 'a warning')
    const [warning] = warnings()
    expect(warning?.message).toContain(`cannot agree on their request rates in "${directory}" (EEXIST)`)
    expect(warning?.message).toContain('There is a file with this name. Choose another path, or move the file away.')
    expect(shippers.map(shipper => shipper.stats().rateSharers)).toEqual([1, 1])
  })

  it('say nothing if the default directory cannot be used', async () => {
    vi.stubEnv('TMPDIR', '/proc/none')
    const shippers = [busy({ rateDirectory: undefined }), busy({ rateDirectory: undefined })]
    await until(() => shippers.every(isThrottled), 'both are held back')
    await sleep(2500)
    expect(shipping.warnings.filter(({ code }) => code === 'LOGFERRY_LIMITS')).toEqual([])
  })
})

/** Returns an exchange for a rate limiter that shares an unknown limit, except for what is given. */
function exchangeOf(rates: SharedRates, rateLimiter: Partial<RateExchangeDeps['rateLimiter']>): RateExchange {
  const unlimited: RateExchangeDeps['rateLimiter'] = {
    isShared: () => true,
    headersTellRemaining: false,
    freeUse: () => 0,
    allowedPerSecond: Number.POSITIVE_INFINITY,
    rateToShare: () => undefined,
    agreeOn: () => {},
    join: () => {},
    hasStarted: true,
    isLeased: false,
    holdUntil: () => {},
    wasThrottledSince: () => false,
    forgetRate: () => {},
  }
  return new RateExchange({
    rates,
    rateLimiter: Object.defineProperties(unlimited, Object.getOwnPropertyDescriptors(rateLimiter)), // keeps accessors
    isWaiting: () => true,
    onAgreed: () => {},
    onTrouble: error => expect(error).toBeUndefined(),
    random: () => 0,
  })
}

function ratesOf(others: () => readonly SharedRate[]): SharedRates {
  return { read: async () => others(), exchange: async () => others(), leave: () => {} }
}

describe('an exchange of rates', () => {
  it('begins if this process uses more than others that are held back, whom no 429 to it has shown', async () => {
    const agreed: number[] = []
    const exchange = exchangeOf(
      ratesOf(() => [60, 60].map(perSecond => rate(perSecond, { sinceRefusedMs: 6000 }))),
      {
        isShared: () => agreed.length > 0,
        freeUse: () => (agreed.length > 0 ? 0 : 345),
        agreeOn: (_, { requestsPerSecond }) => agreed.push(requestsPerSecond),
      },
    )
    exchange.onAnswer()
    await until(() => agreed.length > 0, 'it gives way')
    expect(agreed).toEqual([155])
    exchange.close()
  })

  it('does not begin if this process uses as much as others', async () => {
    const reads = vi.fn(async () => [rate(60), rate(60)])
    const exchange = exchangeOf(
      { ...ratesOf(() => []), read: reads },
      { isShared: () => false, freeUse: () => 60, agreeOn: () => expect.fail('agreed') },
    )
    exchange.onAnswer()
    exchange.onAnswer() // soon after the first
    await sleep(50)
    expect(reads).toHaveBeenCalledTimes(1)
    exchange.close()
  })

  it('ends with close(), also in the middle, and begins again with the next answer', async () => {
    const exchanges: PromiseWithResolvers<readonly SharedRate[]>[] = []
    const agreed: number[] = []
    const exchange = exchangeOf(
      {
        exchange: () => {
          exchanges.push(Promise.withResolvers())
          return (exchanges.at(-1) as PromiseWithResolvers<readonly SharedRate[]>).promise
        },
        read: async () => [],
        leave: () => {},
      },
      {
        allowedPerSecond: 100,
        rateToShare: () => rate(10),
        agreeOn: (_, { requestsPerSecond }) => agreed.push(requestsPerSecond),
      },
    )
    exchange.onAnswer()
    await until(() => exchanges.length === 1, 'an exchange')
    exchange.close()
    exchanges[0]?.resolve([rate(20)])
    exchange.onAnswer()
    await until(() => exchanges.length === 2, 'another exchange')
    expect([agreed, exchange.sharers]).toEqual([[], 1])
    exchanges[1]?.resolve([rate(30)])
    await until(() => exchange.sharers === 2, 'an agreement')
    expect(agreed).toEqual([20])
    exchange.close()
    expect(exchange.sharers).toBe(1)
  })
})

describe('a process that joins others', () => {
  const joined = async (others: readonly SharedRate[], allowedPerSecond: number) => {
    const agreed: number[] = []
    const exchange = exchangeOf(
      ratesOf(() => others),
      {
        isShared: () => false,
        allowedPerSecond,
        agreeOn: (_, { requestsPerSecond }) => agreed.push(requestsPerSecond),
      },
    )
    await exchange.join()
    exchange.close()
    return agreed
  }

  it.each<[string, readonly SharedRate[], number, number[]]>([
    ['begins with the rate of each of them', [rate(2), rate(4)], 40, [3]],
    ['begins with its part of the limit if they use all of it', [rate(20), rate(20)], 40, [40 / 3]],
    ['begins slowly if the limit is unknown', [rate(20)], Number.POSITIVE_INFINITY, [1]],
    ['is free if there are none', [], 40, []],
  ])('%s', async (_, others, allowedPerSecond, expected) => {
    expect(await joined(others, allowedPerSecond)).toEqual(expected)
  })
})

describe('a process that takes its place in line', () => {
  const inLine = (
    read: () => Promise<readonly SharedRate[]>,
    { hasStarted = (): boolean => false, allowedPerSecond = 5, isLeased = false } = {},
  ) => {
    const calls: string[] = []
    const exchange = exchangeOf(
      {
        read,
        exchange: async () => {
          calls.push('tell')
          return []
        },
        leave: () => calls.push('leave'),
      },
      {
        allowedPerSecond,
        isLeased,
        get hasStarted() {
          return hasStarted()
        },
        rateToShare: () => rate(1),
        join: () => calls.push('join'),
        forgetRate: () => calls.push('forget'),
        holdUntil: ms => calls.push(ms > 0 ? 'hold' : 'go on'),
      },
    )
    return { exchange, calls }
  }

  it('takes none if it has slots of a fleet', async () => {
    const { exchange, calls } = inLine(async () => [], { isLeased: true })
    await exchange.takePlace()
    expect(calls).toEqual([])
  })

  it('takes one, and only one, when its first event comes', async () => {
    const { exchange, calls } = inLine(async () => [])
    await Promise.all([exchange.takePlace(), exchange.takePlace()])
    exchange.close()
    expect(calls).toEqual(['hold', 'join', 'tell', 'forget', 'go on', 'leave'])
  })

  it('takes none, and waits for nothing, if the limit is high', async () => {
    const { exchange, calls } = inLine(async () => [], { allowedPerSecond: 1000 })
    await exchange.join()
    expect(calls).toEqual([])
    exchange.close()
  })

  it('tells no rate after close()', async () => {
    const looking = Promise.withResolvers<readonly SharedRate[]>()
    const { exchange, calls } = inLine(() => looking.promise)
    const joining = exchange.join()
    exchange.close()
    looking.resolve([rate(1)])
    await joining
    expect(calls).toEqual(['hold', 'leave', 'go on', 'leave'])
  })

  it('leaves again if it has told its rate during close()', async () => {
    const { exchange, calls } = inLine(async () => [])
    const joining = exchange.join()
    await until(() => calls.includes('tell'), 'the rate is told')
    exchange.close()
    await joining
    expect(calls).toEqual(['hold', 'join', 'tell', 'leave', 'go on', 'leave'])
  })

  it('keeps what the service has answered since, if it is ending and a request has started', async () => {
    const { exchange, calls } = inLine(async () => [], { hasStarted: () => calls.includes('tell') })
    await exchange.join()
    exchange.close()
    expect(calls).toEqual(['hold', 'join', 'tell', 'go on', 'leave'])
  })
})

describe('the rate with which a process joined others', () => {
  const afterOthersHaveGone = async (own: SharedRate | undefined, wasThrottled: boolean) => {
    let others: readonly SharedRate[] = [rate(2)]
    let forgotten = 0
    const exchange = exchangeOf(
      ratesOf(() => others),
      {
        rateToShare: () => own,
        wasThrottledSince: () => wasThrottled,
        forgetRate: () => forgotten++,
      },
    )
    await exchange.join()
    expect(forgotten).toBe(0)
    others = []
    await sleep(500)
    exchange.close()
    return forgotten
  }

  it.each<[string, SharedRate | undefined]>([
    ['has little to send', undefined],
    ['is held back', rate(1)],
  ])('is forgotten once the others have gone, if the process %s', async (_, own) => {
    expect(await afterOthersHaveGone(own, false)).toBe(1)
  })

  it('is forgotten, and a wait that the service has asked for before is not', async () => {
    let others: readonly SharedRate[] = [rate(2)]
    const rateLimiter = new RateLimiter()
    const startMs = performance.now()
    rateLimiter.onStart(startMs)
    rateLimiter.onAnswer(startMs, { throttled: true, retryAfterMs: 60_000 })
    await sleep(10)
    const exchange = new RateExchange({
      rates: ratesOf(() => others),
      rateLimiter,
      isWaiting: () => true,
      onAgreed: () => {},
      onTrouble: () => {},
      random: () => 0,
    })
    await exchange.join()
    expect(rateLimiter.inForce(performance.now()).because).toBe('throttled')
    others = []
    await sleep(500)
    exchange.close()
    expect(rateLimiter.inForce(performance.now()).because).toBe('none')
    expect(rateLimiter.notBeforeMs(performance.now())).toBeGreaterThanOrEqual(startMs + 60_000)
  })

  it('stays if the service has refused requests since', async () => {
    expect(await afterOthersHaveGone(rate(1), true)).toBe(0)
  })
})

describe('processes with the same address', () => {
  const baseUrl = 'https://logs.example/'
  /** Returns the name of the table on which a process with these options writes. */
  async function tableOf(options: ShipperOptions): Promise<string> {
    const parent = fs.mkdtempSync(join(tmpdir(), 'logferry-rates-'))
    const { rates, credentials } = resolveOptions(
      { baseUrl, dataset: 'd', rateDirectory: join(parent, 'r'), ...options },
      {},
    )
    await rateTableOf(rates as ResolvedRates, credentials).exchange(rate(1))
    const [name] = fs.readdirSync(join(parent, 'r'))
    fs.rmSync(parent, { recursive: true })
    return name as string
  }

  it('share a table if they have the same organization, or without one the same token', async () => {
    const [a, b] = [{ token: 'token-a' }, { token: 'token-b' }]
    const table = await tableOf(a)
    expect(await tableOf({ ...a, dataset: 'other', baseUrl: 'https://logs.example' })).toBe(table)
    expect(await tableOf(b)).not.toBe(table)
    expect(await tableOf({ ...a, baseUrl: 'https://logs.example/edge' })).not.toBe(table)
    const ofOrganization = await tableOf({ ...a, limits: { orgId: 'org-1' } })
    expect(await tableOf({ personalAccessToken: 'token-c', orgId: 'org-1' })).toBe(ofOrganization)
    expect(await tableOf({ ...a, limits: { orgId: 'org-2' } })).not.toBe(ofOrganization)
    expect(table).not.toBe(ofOrganization)
  })

  it('share none if the application has divided the limit, or says so', () => {
    const given = { baseUrl, dataset: 'd', token: 'token-a' }
    expect(resolveOptions({ ...given, limits: { orgId: 'org-1', share: 0.5 } }, {}).rates).toBeUndefined()
    expect(resolveOptions({ ...given, rateDirectory: false }, {}).rates).toBeUndefined()
    expect(resolveOptions({ ...given, limits: { orgId: 'org-1', share: 1 } }, {}).rates).toBeDefined()
  })

  it('do not tell the token by the name of the table', async () => {
    const name = await tableOf({ token: 'token-a' })
    const hashes = ['token-a', `token-a${baseUrl}`].map(text => createHash('sha256').update(text).digest('hex'))
    for (const hash of hashes) expect(hash).not.toContain(name.slice(0, 32))
  })
})
