import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Limits, type LimitsSettings } from '../../src/org/limits.ts'
import { OrgError } from '../../src/org/org-error.ts'
import type { Org } from '../../src/org/organization.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-02T00:00:00Z') }))
afterEach(() => void vi.useRealTimers())

const org = {
  id: 'o',
  name: 'O',
  license: { monthlyIngestGb: 1, apiRateLimitPerSecond: 8, maxFields: 0 },
  paymentStatus: 'success',
} as unknown as Org

/** Returns the number of warnings after each of five reads of the license, 100 s apart, and ends the reads. */
async function countsAfterReads(limits: Limits, warnings: readonly unknown[]): Promise<number[]> {
  const counts = [warnings.length]
  for (let read = 1; read < 5; read++) {
    await vi.advanceTimersByTimeAsync(100_000)
    counts.push(warnings.length)
  }
  limits.stop()
  return counts
}

async function start(settings: Partial<LimitsSettings> = {}, readOrg = async () => org) {
  const rates: (number | undefined)[] = []
  const warnings: [code: string, message: string][] = []
  let raises = 0
  let newPeriods = 0
  let turn = 0
  const limits = new Limits(
    {
      share: 1,
      refreshMs: 3_600_000,
      onBudget: 'warn',
      overflowField: 'overflow',
      timeField: '_time',
      region: undefined,
      ...settings,
    },
    {
      readOrg,
      setRate: rate => rates.push(rate),
      onRaised: () => raises++,
      onNewPeriod: () => newPeriods++,
      warn: (code, message) => warnings.push([code, message]),
      asSent: event => event,
      random: () => (turn++ % 100) / 100,
    },
  )
  limits.start()
  await vi.advanceTimersByTimeAsync(0)
  return { limits, rates, warnings, raises: () => raises, newPeriods: () => newPeriods }
}

/** Ships debug lines for ten minutes, a hundred times as many as the month allows, and a few errors. */
async function overrun(limits: Limits) {
  const shipped = { debug: [] as object[], error: [] as object[] }
  for (let second = 0; second < 600; second++) {
    for (let line = 0; line < 40; line++) {
      const event = limits.fit('d', { level: 'debug', message: 'm' }, 1, undefined)
      if (event !== undefined) {
        shipped.debug.push(event)
        limits.count(1, 1000)
      }
    }
    const error = limits.fit('d', { level: 'error', logferry: { mine: 1 } }, 4, undefined)
    if (error !== undefined) shipped.error.push(error)
    limits.count(4, 10)
    await vi.advanceTimersByTimeAsync(1000)
  }
  return shipped
}

describe('the limits of a license', () => {
  it('set the rate of this process’s share', async () => {
    const { rates } = await start({ share: 0.5 })
    expect(rates).toEqual([4])
  })

  it('warn again that they cannot be read, after they could be read in between', async () => {
    const answers = ['---', '-', 'o', '---', 'oo', '--', 'o'].join('')
    let reads = 0
    const readOrg = async () =>
      answers[reads++] === '-' ? Promise.reject(new OrgError('UNAVAILABLE', 'in trouble')) : org
    const { warnings, limits } = await start({ refreshMs: 3000 }, readOrg)
    await vi.advanceTimersByTimeAsync(15_000)
    expect(warnings.map(([code]) => code)).toEqual(['LOGFERRY_LIMITS'])
    await vi.advanceTimersByTimeAsync(60_000)
    limits.stop()
    expect(warnings.map(([code]) => code)).toEqual(['LOGFERRY_LIMITS', 'LOGFERRY_LIMITS'])
  })

  it.each([
    ['count what was shipped before the license could be read', '2026-11-15T12:00:00Z', 1000],
    ['leave that out if the license is read in a later period', '2026-11-30T23:59:58Z', 300],
  ])('%s', async (_, startedAt, usedBytes) => {
    vi.setSystemTime(Date.parse(startedAt))
    const answers: (() => Promise<Org>)[] = [() => Promise.reject(new OrgError('UNAVAILABLE', 'in trouble'))]
    const { limits } = await start({}, () => (answers.shift() ?? (async () => org))())
    limits.count(3, 700)
    await vi.advanceTimersByTimeAsync(10_000)
    limits.count(3, 300)
    expect(limits.stats({ requestsPerSecond: 8, because: 'license' }).ingest).toMatchObject({ usedBytes })
    limits.stop()
  })

  it('take a monthly ingest beyond all numbers for none', async () => {
    const license = { ...org.license, monthlyIngestGb: 1e308 }
    const { limits, warnings } = await start({}, async () => ({ ...org, license }))
    limits.onAnswer({ 'x-ingestlimit-remaining': '5' })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(limits.stats({ requestsPerSecond: 8, because: 'license' }).ingest).toBeUndefined()
    limits.stop()
    expect(warnings).toEqual([])
  })

  it('are read again no earlier than the service asks for, and up to a tenth later', async () => {
    const startedMs = Date.now()
    const readAtMs: number[] = []
    const readOrg = async () => {
      readAtMs.push(Date.now() - startedMs)
      throw new OrgError('RATE_LIMITED', 'too often', { retryAfterMs: 60_000 })
    }
    const { limits } = await start({}, readOrg)
    await vi.advanceTimersByTimeAsync(600_000)
    limits.stop()
    const waits = readAtMs.slice(1, 4).map((atMs, i) => atMs - (readAtMs[i] ?? 0))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(60_000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(66_000)
  })

  it('warn of a problem of the license once, and again when it returns after it was solved', async () => {
    const statuses = ['failed', 'failed', 'success', 'failed', 'failed']
    const readOrg = async () => ({ ...org, paymentStatus: statuses.shift() }) as Org
    const { warnings, limits } = await start({ refreshMs: 100_000 }, readOrg)
    expect(await countsAfterReads(limits, warnings)).toEqual([1, 1, 1, 2, 2])
    expect(warnings.at(-1)).toEqual(['LOGFERRY_LICENSE', expect.stringContaining('payment status is failed')])
  })

  it('warn of invalid fields of the license once, and again when they return after they were valid', async () => {
    const problems = ['maxFields: x', 'maxFields: x', undefined, 'maxFields: x', 'maxFields: x']
    const readOrg = async (onUnusable?: (problem: string) => void) => {
      const problem = problems.shift()
      if (problem !== undefined) onUnusable?.(problem)
      return org
    }
    const { warnings, limits } = await start({ refreshMs: 100_000 }, readOrg)
    expect(await countsAfterReads(limits, warnings)).toEqual([1, 1, 1, 2, 2])
  })

  it('warn of a full dataset once, and again when it is full although the license allows more fields', async () => {
    const maxima = [20, 20, 40, 40]
    const readOrg = async () => ({ ...org, license: { maxFields: maxima.shift() } }) as unknown as Org
    const { warnings, limits } = await start({ refreshMs: 1000 }, readOrg)
    const messages = () => warnings.filter(([code]) => code === 'LOGFERRY_LICENSE').map(([, message]) => message)
    const counts = []
    for (let read = 0; read < 4; read++) {
      for (let n = 0; n < 50; n++) limits.fit('d', { [`field${'x'.repeat(n)}`]: 1 }, 2, undefined)
      counts.push(messages().length)
      await vi.advanceTimersByTimeAsync(1000)
    }
    limits.stop()
    expect(counts).toEqual([1, 1, 2, 2])
    expect(messages().at(-1)).toContain('(maxFields: 40)')
  })

  it('report a raised ingest, and not a lowered one', async () => {
    const monthlyGb = [1, 1, 2, 1, undefined]
    const readOrg = async () => ({ ...org, license: { monthlyIngestGb: monthlyGb.shift() } }) as unknown as Org
    const { raises } = await start({ refreshMs: 1000 }, readOrg)
    const seen = [raises()]
    for (let read = 0; read < 4; read++) {
      await vi.advanceTimersByTimeAsync(1000)
      seen.push(raises())
    }
    expect(seen).toEqual([0, 0, 1, 1, 2])
  })

  it('know the used ingest after an answer without it', async () => {
    const monthlyGb = [1, undefined, 1]
    const readOrg = async () => ({ ...org, license: { monthlyIngestGb: monthlyGb.shift() } }) as unknown as Org
    const { limits, warnings } = await start({ refreshMs: 20_000 }, readOrg)
    const used: (number | undefined)[] = []
    for (let read = 0; read < 3; read++) {
      limits.count(2, 300_000_000)
      used.push(limits.stats({ requestsPerSecond: 1, because: 'none' }).ingest?.usedBytes)
      await vi.advanceTimersByTimeAsync(20_000)
    }
    limits.stop()
    expect(used).toEqual([3e8, undefined, 9e8])
    expect(warnings.map(([code]) => code)).toEqual(['LOGFERRY_BUDGET'])
  })

  it('count the ingest of a new period from its beginning, before the license with that period is read', async () => {
    const dates = ['2026-10-10T00:00:00Z', '2026-11-02T00:01:00Z', '2026-12-02T00:01:00Z']
    let reads = 0
    const readOrg = async () => {
      const [billingPeriodStart, billingPeriodEnd] = dates.slice(reads++)
      return { ...org, license: { monthlyIngestGb: 1, billingPeriodStart, billingPeriodEnd } } as unknown as Org
    }
    const { limits, newPeriods } = await start({ refreshMs: 300_000 }, readOrg)
    const used: [usedBytes: number | undefined, newPeriods: number][] = []
    for (const afterMs of [0, 100_000, 300_000]) {
      await vi.advanceTimersByTimeAsync(afterMs)
      limits.count(2, 100_000_000)
      used.push([limits.stats({ requestsPerSecond: 1, because: 'none' }).ingest?.usedBytes, newPeriods()])
    }
    limits.stop()
    expect([used, reads]).toEqual([
      [
        [1e8, 0],
        [1e8, 1],
        [2e8, 1],
      ],
      2,
    ])
  })

  it('onBudget warn: every event is shipped, and the warning names the day on which the budget ends', async () => {
    const { limits, warnings } = await start()
    const { debug, error } = await overrun(limits)
    expect([debug.length, error.length]).toEqual([24_000, 600])
    expect(warnings).toEqual([
      [
        'LOGFERRY_BUDGET',
        expect.stringMatching(
          /the 1\.0 GB that may be ingested by 2026-12-01 will be used up on 2026-11-02.*onBudget: 'shed'/,
        ),
      ],
    ])
  })

  it('onBudget shed: a marked sample of the least severe events is shipped, and every error', async () => {
    const { limits } = await start({ onBudget: 'shed' })
    const { debug, error } = await overrun(limits)
    expect(error).toHaveLength(600)
    expect(error.at(-1)).toEqual({ level: 'error', logferry: { mine: 1 } })
    expect(debug.length).toBeLessThan(16_000)
    expect(debug[0]).toEqual({ level: 'debug', message: 'm' })
    const marked = { level: 'debug', message: 'm', logferry: { sampling_rate: expect.any(Number) } }
    expect(JSON.parse(JSON.stringify(debug.at(-1)))).toEqual(marked)
    const { sampling_rate } = (debug.at(-1) as { logferry: { sampling_rate: number } }).logferry
    expect(sampling_rate).toBeGreaterThanOrEqual(0.01)
    expect(sampling_rate).toBeLessThan(0.1)
  })

  it('of zero do not apply', async () => {
    const { limits } = await start()
    expect(limits.stats({ requestsPerSecond: 8, because: 'license' })).toMatchObject({ maxFields: undefined })
  })

  it('of fields hold for more datasets than are remembered, including resource and scope', async () => {
    const { limits } = await start({}, async () => ({ ...org, license: { maxFields: 30 } }))
    const resource = { resource: Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`r${n}`, n])) }
    const event = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`k${n}`, n]))
    const round = () => Array.from({ length: 1100 }, (_, n) => limits.fit(`d${n}`, event, 2, resource))
    const [first] = round()
    expect(Object.keys(first as object)).toContain('overflow')
    for (const fitted of round()) expect(fitted).toEqual(first)
    const { fields } = limits.stats({ requestsPerSecond: 8, because: 'license' })
    expect(Object.keys(fields)).toHaveLength(1000)
  })

  it('that cannot be read are retried ever more rarely, with one warning', async () => {
    let reads = 0
    const { warnings } = await start({}, async () => {
      reads++
      throw new Error('secret')
    })
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(reads).toBeGreaterThan(4)
    expect(reads).toBeLessThan(10)
    expect(warnings).toEqual([['LOGFERRY_LIMITS', expect.not.stringContaining('secret')]])
  })

  it('are not read after stop()', async () => {
    let reads = 0
    const { limits } = await start({ refreshMs: 2000 }, async () => {
      reads++
      return org
    })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(reads).toBe(6)
    limits.stop()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(reads).toBe(6)
  })

  it.each<[string, (answer: PromiseWithResolvers<Org>) => void]>([
    ['comes', answer => answer.resolve(org)],
    ['fails', answer => answer.reject(new Error('broken off'))],
  ])('are not read after stop() during a read, which then %s', async (_, settle) => {
    const answer = Promise.withResolvers<Org>()
    let reads = 0
    const { limits, rates, warnings } = await start({ refreshMs: 1000 }, () => {
      reads++
      return answer.promise
    })
    limits.stop()
    settle(answer)
    await vi.advanceTimersByTimeAsync(60_000)
    expect({ reads, rates, warnings }).toEqual({ reads: 1, rates: [], warnings: [] })
  })

  it('are read every hour if the license allows next to no requests', async () => {
    let reads = 0
    const { limits } = await start({ refreshMs: 1000 }, async () => {
      reads++
      return { ...org, license: { ...org.license, apiRateLimitPerSecond: 1e-9 } }
    })
    await vi.advanceTimersByTimeAsync(3 * 3_600_000 + 1)
    expect(reads).toBe(4)
    limits.stop()
  })

  it('are read again after a restart during a read', async () => {
    const answers: PromiseWithResolvers<Org>[] = []
    const { limits, rates } = await start({ refreshMs: 2000 }, () => {
      const answer = Promise.withResolvers<Org>()
      answers.push(answer)
      return answer.promise
    })
    limits.stop()
    limits.start()
    await vi.advanceTimersByTimeAsync(0)
    for (const answer of answers) answer.resolve(org)
    await vi.advanceTimersByTimeAsync(2000)
    expect([answers.length, rates]).toEqual([3, [8]])
  })
})
