import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Compression } from '../../src/delivery/compression.ts'
import { RateLimiter } from '../../src/delivery/rate-limiter.ts'
import { oneAt } from '../../src/org/slots.ts'
import type { Outcome } from '../../src/outcome.ts'
import { lineOf } from '../support/line-of.ts'
import { randomFrom } from '../support/random.ts'
import { blocked, delivered, numbers, pipelineTo, rejected, retryable, type Service, tooLarge } from './wired.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

const range = (count: number) => Array.from({ length: count }, (_, index) => index)
const sorted = (values: readonly number[]) => [...values].sort((a, b) => a - b)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a batch', () => {
  it('is sent when its first event has waited for maxBatchAgeMs', async () => {
    const { log, sent } = pipelineTo(() => delivered, { maxBatchAgeMs: 500 })
    log(1)
    await vi.advanceTimersByTimeAsync(499)
    log(2)
    expect(sent).toHaveLength(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent.map(({ lines }) => numbers(lines))).toEqual([[1, 2]])
  })

  it('is sent at once when it holds maxBatchEvents', async () => {
    const { log, sent } = pipelineTo(() => delivered, { maxBatchEvents: 3 })
    for (const n of range(7)) log(n)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ lines }) => numbers(lines))).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ])
  })

  it('is sent at once when the next event would not fit into maxBatchBytes', async () => {
    const { log, sent } = pipelineTo(() => delivered, { maxBatchBytes: 2048 })
    for (const n of range(5)) log(n, { text: 'x'.repeat(900) })
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ lines }) => numbers(lines))).toEqual([
      [0, 1],
      [2, 3],
    ])
  })

  it('is sent at once on flush, which ends when the service has answered', async () => {
    const answers: ((outcome: Outcome) => void)[] = []
    const { log, sent, batchQueue } = pipelineTo(() => new Promise(resolve => answers.push(resolve)))
    log(1)
    let isFlushed = false
    void batchQueue.flush().then(() => {
      isFlushed = true
    })
    await vi.advanceTimersByTimeAsync(0)
    expect([sent.length, isFlushed]).toEqual([1, false])
    answers[0]?.(delivered)
    await vi.advanceTimersByTimeAsync(0)
    expect(isFlushed).toBe(true)
  })

  it('is sent with at most maxConcurrentRequests in flight, while the open batch keeps filling', async () => {
    const answers: ((outcome: Outcome) => void)[] = []
    const { log, sent } = pipelineTo(() => new Promise(resolve => answers.push(resolve)), {
      maxConcurrentRequests: 2,
      maxBatchAgeMs: 10,
    })
    for (const n of range(20)) {
      log(n)
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(sent.map(({ lines }) => numbers(lines))).toEqual([[0], [1]])
    answers[0]?.(delivered)
    await vi.advanceTimersByTimeAsync(0)
    expect(numbers(sent[2]?.lines ?? [])).toEqual(range(20).slice(2))
  })

  it('is sent of each dataset in turn', async () => {
    const { log, sent } = pipelineTo(() => delivered, { maxBatchEvents: 1, maxConcurrentRequests: 1 })
    for (const n of range(3)) log(n, { dataset: 'busy' })
    log(9, { dataset: 'quiet' })
    await vi.advanceTimersByTimeAsync(0)
    expect(sent.map(({ dataset }) => dataset)).toEqual(['busy', 'quiet', 'busy', 'busy'])
  })

  it('in small batches is joined to larger ones in order, if few requests are allowed', async () => {
    const pace = new RateLimiter()
    pace.setLimit(1)
    const { log, sent, ledger, memory } = pipelineTo(() => delivered, { maxBatchEvents: 1, pace })
    for (const n of range(100)) log(n)
    for (const n of range(3)) log(n, { dataset: 'other' })
    await vi.advanceTimersByTimeAsync(30_000)
    const ofFirst = sent.filter(({ dataset }) => dataset === 'd').flatMap(({ lines }) => lines)
    expect(numbers(ofFirst)).toEqual(range(100))
    expect(sent.length).toBeLessThan(25)
    expect(ledger.delivered).toBe(103)
    expect(memory.usedBytes).toBe(0)
  })

  it('in small batches is joined to larger ones although memory is full', async () => {
    const pace = new RateLimiter()
    pace.setLimit(1)
    const limits = { maxBatchEvents: 1, maxBatchBytes: 65_536, maxBufferedBytes: 1_048_576 }
    const { log, sent, ledger, memory } = pipelineTo(() => delivered, { ...limits, pace })
    let logged = 0
    while (log(logged, { severity: 4, text: 'x'.repeat(3000) })) logged++
    expect(memory.usedBytes).toBe(memory.maxBytes)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(numbers(sent.flatMap(({ lines }) => lines))).toEqual(range(logged))
    expect([ledger.delivered, memory.usedBytes]).toEqual([logged, 0])
  })

  it('in small batches is sent although the system has no memory to join them', async () => {
    const pace = new RateLimiter()
    pace.setLimit(1)
    const { log, sent, ledger } = pipelineTo(() => delivered, { maxBatchEvents: 1, pace })
    for (const n of range(20)) log(n)
    vi.spyOn(Buffer, 'allocUnsafeSlow').mockImplementation(() => {
      throw new RangeError('Array buffer allocation failed')
    })
    await vi.advanceTimersByTimeAsync(30_000)
    expect(sent.flatMap(({ lines }) => numbers(lines))).toEqual(range(20))
    expect(ledger.delivered).toBe(20)
  })

  it('a dataset that is not answered leaves half of the requests to others', async () => {
    const { log, sent } = pipelineTo(({ dataset }) => (dataset === 'silent' ? new Promise(() => {}) : delivered), {
      maxBatchAgeMs: 1000,
      maxConcurrentRequests: 4,
    })
    for (let second = 0; second < 20; second++) {
      log(second, { dataset: 'silent' })
      log(second, { dataset: 'well' })
      await vi.advanceTimersByTimeAsync(1000)
    }
    const requestsTo = (name: string) => sent.filter(({ dataset }) => dataset === name).length
    expect([requestsTo('silent'), requestsTo('well')]).toEqual([4, 20]) // two of the four may be lost
  })

  it.each([
    ['blocks', blocked],
    ['has an error for', retryable()],
  ])('a dataset that the service %s leaves half of the memory to others', async (_, answer) => {
    const service: Service = async ({ dataset }) => {
      await new Promise(resolve => setTimeout(resolve, 5))
      return dataset === 'unwell' ? answer : delivered
    }
    const { log, memory } = pipelineTo(service, { maxBatchBytes: 65_536, maxBufferedBytes: 4 * 1_048_576 })
    let kept = 0
    for (let second = 0; second < 120; second++) {
      for (const n of range(60)) if (log(n, { dataset: 'unwell', severity: 4, text: 'x'.repeat(1000) })) kept++
      expect(log(second, { dataset: 'well', severity: 0 })).toBe(true)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(kept).toBeGreaterThan(1900)
    expect(memory.usedBytes).toBeLessThan(2.6 * 1_048_576)
  })

  it('a dataset may fill the memory if the service takes no other one, and again when the service takes it', async () => {
    let isUnwell = true
    const { log, memory } = pipelineTo(({ dataset }) => (isUnwell && dataset === 'unwell' ? blocked : delivered), {
      maxBatchBytes: 65_536,
      maxBufferedBytes: 4 * 1_048_576,
    })
    const fill = () =>
      range(4000).filter(n => log(n, { dataset: 'unwell', severity: 4, text: 'x'.repeat(1000) })).length
    for (let second = 0; second < 20; second++) {
      log(second, { dataset: 'well' })
      log(second, { dataset: 'unwell' })
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(fill()).toBeLessThan(2100)
    isUnwell = false
    await vi.advanceTimersByTimeAsync(60_000)
    expect(memory.usedBytes).toBe(0)
    expect(fill()).toBeGreaterThan(3500)
  })

  it('of many datasets of which one is well, that one is served', async () => {
    const { log, sent } = pipelineTo(async ({ dataset }) => {
      await new Promise(resolve => setTimeout(resolve, 5))
      return dataset === 'well' ? delivered : retryable()
    })
    for (let second = 0; second < 60; second++) {
      log(second, { dataset: 'well' })
      for (const n of range(20)) log(n, { dataset: `unwell ${n}` })
      await vi.advanceTimersByTimeAsync(1000)
    }
    const requestsToWell = sent.filter(({ dataset }) => dataset === 'well').length
    expect(requestsToWell).toBeGreaterThan(12)
    expect(sent.length).toBeLessThan(600)
  })

  it('datasets without an answer beside others that fail do not hold up one that is well', async () => {
    const { log, sent } = pipelineTo(async ({ dataset }) => {
      await new Promise(resolve => setTimeout(resolve, dataset.startsWith('silent') ? 30_000 : 5))
      return dataset === 'well' ? delivered : retryable()
    })
    for (let second = 0; second < 120; second++) {
      log(second, { dataset: 'well' })
      for (const dataset of ['silent 1', 'silent 2', 'unwell 1', 'unwell 2']) log(second, { dataset })
      await vi.advanceTimersByTimeAsync(1000)
    }
    const atMs = sent.filter(({ dataset }) => dataset === 'well').map(request => request.atMs)
    expect(Math.max(...atMs.map((ms, i) => ms - (atMs[i - 1] ?? ms)))).toBeLessThan(8000)
    expect(atMs.length).toBeGreaterThan(40)
  })

  it('no dataset counts as unwell because others were accepted just before the service went away', async () => {
    let isAway = false
    const { log, memory } = pipelineTo(
      async ({ dataset }) => {
        await new Promise(resolve => setTimeout(resolve, dataset === 'slow' ? 300 : 5))
        return isAway ? retryable() : delivered
      },
      { maxBatchBytes: 65_536, maxBufferedBytes: 4 * 1_048_576, maxBatchAgeMs: 50 },
    )
    for (let n = 0; n < 200; n++) {
      isAway = n >= 103
      for (const dataset of ['slow', 'quick']) log(n, { dataset })
      await vi.advanceTimersByTimeAsync(50)
    }
    const kept = range(4000).filter(n => log(n, { dataset: 'slow', severity: 4, text: 'x'.repeat(1000) })).length
    expect(kept).toBeGreaterThan(3500)
    expect(memory.usedBytes).toBeGreaterThan(3.5 * 1_048_576)
  })

  it('requests that are lost on their way hold others up for some seconds only', async () => {
    const { log, sent, arrived, delivery } = pipelineTo(
      ({ atMs }) => (atMs < startMs + 4500 ? new Promise(() => {}) : delivered),
      { maxBatchAgeMs: 1000, maxConcurrentRequests: 4 },
    )
    const startMs = performance.now()
    for (let second = 0; second < 20; second++) {
      log(second)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(sent[4]?.atMs).toBeLessThanOrEqual(startMs + 10_000)
    expect(arrived.length).toBeGreaterThan(13)
    expect(delivery.inFlight).toBe(4)
  })

  it('a request in ten that is lost holds up none of the others, and costs next to no event at the end', async () => {
    let count = 0
    const { log, sent, arrived, delivery, batchQueue } = pipelineTo(
      () => (Math.imul(++count, 2654435761) >>> 0 < 2 ** 32 / 10 ? new Promise(() => {}) : delivered),
      { maxBatchAgeMs: 100, maxConcurrentRequests: 4 },
    )
    for (const n of range(400)) {
      log(n)
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(arrived.length).toBeGreaterThan(300)
    expect(delivery.inFlight).toBeLessThanOrEqual(36)
    void batchQueue.flush()
    delivery.skipBackoff(10_000)
    await vi.advanceTimersByTimeAsync(9900)
    expect(arrived.length).toBeGreaterThan(395)
    expect(sent.length).toBeLessThan(500)
  })

  it.each([4, 9])(
    'a slow service, which needs %d seconds for each request, is given that time at the end',
    async seconds => {
      const { log, sent, arrived, delivery, batchQueue } = pipelineTo(async () => {
        await new Promise(resolve => setTimeout(resolve, seconds * 1000))
        return delivered
      })
      for (const n of range(4)) log(n, { dataset: `d${n}` })
      void batchQueue.flush()
      delivery.skipBackoff(10_000)
      await vi.advanceTimersByTimeAsync(9500)
      expect([arrived.length, sent.length]).toEqual([4, 4])
    },
  )

  it('a slow request beside quick ones is made a second time at the end, and the first answer counts', async () => {
    const { log, sent, arrived, ledger, delivery, batchQueue } = pipelineTo(async ({ dataset }) => {
      await new Promise(resolve => setTimeout(resolve, dataset === 'slow' ? 6000 : 50))
      return delivered
    })
    log(0, { dataset: 'slow' })
    void batchQueue.flush()
    await vi.advanceTimersByTimeAsync(10)
    log(1, { dataset: 'quick' })
    const flushed = batchQueue.flush()
    delivery.skipBackoff(10_000)
    await vi.advanceTimersByTimeAsync(6500)
    await flushed
    expect(sent.map(({ dataset }) => dataset)).toEqual(['slow', 'quick', 'slow'])
    expect([numbers(arrived), ledger.delivered, ledger.pending, delivery.inFlight]).toEqual([[1, 0], 2, 0, 0])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(ledger.delivered).toBe(2)
  })

  it('a request is made a second time at the end although an earlier one for the same events was, too', async () => {
    let requests = 0
    const { log, arrived, delivery, batchQueue } = pipelineTo(async ({ dataset }) => {
      if (dataset === 'quick' || ++requests > 3) return delivered
      if (requests === 3) return new Promise(() => {})
      await new Promise(resolve => setTimeout(resolve, 8000))
      return { kind: 'retryable', reason: 'no answer', unanswered: 'silent' }
    })
    log(0, { dataset: 'lost' })
    void batchQueue.flush()
    delivery.skipBackoff(60_000)
    for (let second = 1; second <= 40; second++) {
      log(second, { dataset: 'quick' })
      void batchQueue.flush()
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(numbers(arrived)).toContain(0)
    expect(requests).toBe(4)
  })

  it('a dataset that is not answered makes all requests if it is the only one, and two more to find out if it is answered now', async () => {
    const { log, sent } = pipelineTo(() => new Promise(() => {}), { maxBatchAgeMs: 1000, maxConcurrentRequests: 4 })
    for (let second = 0; second < 20; second++) {
      log(second)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(sent.map(({ atMs }) => atMs)).toEqual([...sent.slice(0, 4).map(({ atMs }) => atMs), 9000, 14_000])
  })
})

describe('when the service is unavailable', () => {
  it('the same lines are sent again, and no event is lost', async () => {
    const { log, sent, arrived, ledger } = pipelineTo((_, count) => (count < 4 ? retryable() : delivered))
    for (const n of range(10)) log(n)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sent.map(({ lines }) => lines)).toEqual(Array(4).fill(sent[0]?.lines))
    expect(numbers(arrived)).toEqual(range(10))
    expect([ledger.delivered, ledger.pending]).toEqual([10, 0])
  })

  it('no request is made for as long as the service asks, and then all events are delivered', async () => {
    const { log, sent, arrived } = pipelineTo((_, count) => (count === 1 ? retryable(120_000) : delivered), {
      maxBatchEvents: 10,
      maxConcurrentRequests: 1,
    })
    for (const n of range(100)) log(n)
    await vi.advanceTimersByTimeAsync(119_999)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(12_001)
    expect(numbers(arrived)).toEqual(range(100))
  })

  it('at most 25 requests are made in a minute of outage, and all events are delivered after it', async () => {
    const upAtMs = performance.now() + 60_000
    const { log, sent, arrived, ledger } = pipelineTo(() => (performance.now() < upAtMs ? retryable() : delivered))
    for (let second = 0; second < 60; second++) {
      for (const n of range(1000)) log(second * 1000 + n, { text: 'x'.repeat(100) })
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(sent.length).toBeLessThanOrEqual(25)
    await vi.advanceTimersByTimeAsync(31_000)
    expect(sorted(numbers(arrived))).toEqual(range(60_000))
    expect(ledger.pending).toBe(0)
  })

  it('an event for which the service fails each time holds up the events of its batch only', async () => {
    const { log, arrived, ledger } = pipelineTo(({ lines }) => (numbers(lines).includes(50) ? retryable() : delivered))
    for (const n of range(6000)) {
      log(n)
      await vi.advanceTimersByTimeAsync(100)
    }
    await vi.advanceTimersByTimeAsync(10_000)
    expect(ledger.pending).toBeLessThan(20)
    expect(numbers(arrived)).toHaveLength(6000 - ledger.pending)
  })

  it('an event for which the service fails each time holds up no other batch after an outage, although nothing else is logged', async () => {
    let isDown = true
    const isFailing = (lines: readonly string[]) => isDown || numbers(lines).some(n => n % 40 === 39)
    const { log, arrived } = pipelineTo(({ lines }) => (isFailing(lines) ? retryable() : delivered), {
      maxBatchEvents: 10,
    })
    for (const n of range(80)) log(n)
    await vi.advanceTimersByTimeAsync(600_000)
    isDown = false
    await vi.advanceTimersByTimeAsync(120_000)
    expect(sorted(numbers(arrived))).toEqual(range(80).filter(n => n % 40 < 30))
  })

  it.each([
    [retryable(), 20],
    [blocked, 20],
    [rejected, 50], // some 30 of them until the dataset is paused
  ])('an hour leaves few small batches: %o', async (answer, batches) => {
    const { log, batchQueue } = pipelineTo(() => answer)
    for (const n of range(3600)) {
      log(n)
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(batchQueue.batchCount).toBeLessThan(batches)
  })

  it('a 503 to half of the requests costs only the failed requests', async () => {
    let failed = 0
    let seed = 7
    const next = () => {
      seed = (seed * 16_807) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const { log, sent, arrived } = pipelineTo(
      () => {
        if (next() < 0.5) return delivered
        failed++
        return retryable()
      },
      { maxBatchEvents: 10 },
    )
    for (const n of range(2000)) log(n)
    await vi.advanceTimersByTimeAsync(300_000)
    expect(sorted(numbers(arrived))).toEqual(range(2000))
    expect(sent).toHaveLength(200 + failed)
  })

  it('a 503 to half of the requests, for an hour, teaches no size and costs hardly any request', async () => {
    const next = randomFrom(5)
    let failed = 0
    const { log, sent, arrived, warnings } = pipelineTo(
      () => {
        if (next() < 0.5) return delivered
        failed++
        return retryable()
      },
      { random: randomFrom(6) },
    )
    let logged = 0
    for (let second = 0; second < 3600; second += 10) {
      for (const _ of range(100 + 300 * (second % 7))) log(logged++, { text: 'x'.repeat(200) })
      await vi.advanceTimersByTimeAsync(10_000)
    }
    await vi.advanceTimersByTimeAsync(300_000)
    expect(arrived).toHaveLength(logged)
    const bytes = arrived.reduce((sum, line) => sum + line.length + 1, 0)
    expect([warnings.map(({ code }) => code).includes('LOGFERRY_STEPPED_DOWN'), failed > 100]).toEqual([false, true])
    expect((sent.length - failed) / Math.max(bytes / 1_048_576, 360)).toBeLessThan(1.1)
  })

  it.each([1, 2, 3, 4])(
    'the size that a gateway accepts is found within minutes, in batches of any size (%i)',
    async seed => {
      const next = randomFrom(seed)
      const { log, arrived, warnings, ledger } = pipelineTo(
        ({ lines }) => (lines.join('\n').length > 20_000 ? retryable() : delivered),
        { random: randomFrom(seed + 10) },
      )
      for (let second = 0; second < 300; second++) {
        for (const n of range(300)) log(n, { text: 'x'.repeat(300 * next()) })
        await vi.advanceTimersByTimeAsync(1000)
      }
      expect(warnings.map(({ code }) => code)).toContain('LOGFERRY_STEPPED_DOWN')
      await vi.advanceTimersByTimeAsync(60_000)
      expect([arrived.length, ledger.pending]).toEqual([90_000, 0])
    },
  )

  it('one warning a minute names the reason and a remedy', async () => {
    const { log, warnings } = pipelineTo(() => retryable())
    log(1)
    await vi.advanceTimersByTimeAsync(55_000)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatchObject({ code: 'LOGFERRY_UNREACHABLE' })
    expect(warnings[0]?.message).toMatch(/503 busy.*kept and sent again.*check/)
  })

  it('the first request without an answer is reported, because five of them take minutes', async () => {
    const reason = 'no complete answer within 30 s'
    const { log, warnings } = pipelineTo(async () => {
      await new Promise(resolve => setTimeout(resolve, 30_000))
      return { kind: 'retryable', reason, unanswered: 'silent' }
    })
    log(1)
    await vi.advanceTimersByTimeAsync(32_000)
    expect(warnings).toEqual([expect.objectContaining({ code: 'LOGFERRY_UNREACHABLE' })])
    expect(warnings[0]?.message).toMatch(/within 30 s.*kept and sent again.*raise requestTimeoutMs/)
  })

  it.each([
    ['and how long the service asked to wait', 7000, /429 busy.*next request follows in [78] s/],
    [
      'and how long the wait is where it asked for none',
      undefined,
      /429 busy.*next request follows (in [1-9]\d* m?s|at once)\b/,
    ],
  ])('a warning says that the rate limit is reached, %s', async (_, retryAfterMs, message) => {
    const { log, warnings } = pipelineTo(() => ({ kind: 'retryable', reason: 'busy', status: 429, retryAfterMs }))
    log(1)
    await vi.advanceTimersByTimeAsync(55_000)
    expect(warnings.map(({ code }) => code)).toEqual(['LOGFERRY_UNREACHABLE'])
    expect(warnings[0]?.message).toMatch(message)
    expect(warnings[0]?.message).not.toMatch(/network|certificates/)
  })

  it('a 429 to a process that waits for its first turn in a fleet tells no time', async () => {
    const pace = new RateLimiter()
    pace.setLease(oneAt(performance.now()))
    const { log, warnings, retries } = pipelineTo(
      () => ({ kind: 'retryable', reason: 'busy', status: 429, retryAfterMs: 50 }),
      { pace },
    )
    log(1)
    await vi.advanceTimersByTimeAsync(3000)
    const message = expect.stringContaining(
      'the next request follows at the next turn that limits.fleet gives this process.',
    )
    expect(warnings).toEqual([expect.objectContaining({ code: 'LOGFERRY_UNREACHABLE', message })])
    expect(retries).toEqual([expect.objectContaining({ status: 429, delayMs: expect.closeTo(52, -1) })])
  })

  it('a Retry-After holds every dataset back, and, when others were accepted since, only its own', async () => {
    const { log, sent, warnings } = pipelineTo(({ dataset }) => (dataset === 'd0' ? retryable(60_000) : delivered))
    const askedAt: number[] = []
    for (const second of range(400)) {
      const seen = sent.length
      for (const n of range(5)) log(n, { dataset: `d${n}` })
      await vi.advanceTimersByTimeAsync(1000)
      if (sent.slice(seen).some(({ dataset }) => dataset === 'd0')) askedAt.push(second)
    }
    expect(askedAt.length).toBeGreaterThan(5)
    for (const [index, second] of askedAt.slice(1).entries()) expect(second - (askedAt[index] ?? 0)).toBeGreaterThan(58)
    const lastMinute = sent.filter(({ dataset, atMs }) => dataset !== 'd0' && atMs > performance.now() - 60_000)
    expect(lastMinute.length).toBeGreaterThan(200)
    expect(warnings.at(-1)?.message).toMatch(
      /not accepting events for dataset "d0" .*503 busy.* accepts those for others/,
    )
  })

  it('a batch whose connection breaks repeatedly is split, because some servers refuse large bodies that way', async () => {
    const { log, arrived } = pipelineTo(({ lines }) =>
      lines.join().length > 100_000 ? { kind: 'retryable', reason: 'ECONNRESET', unanswered: 'broken' } : delivered,
    )
    for (const n of range(400)) log(n, { text: 'x'.repeat(1000) })
    await vi.advanceTimersByTimeAsync(120_000)
    expect(sorted(numbers(arrived))).toEqual(range(400))
  })
})

describe('with a limit of one request per second', () => {
  it('20,000 small events per second are delivered, in batches of more than maxBatchEvents', async () => {
    const pace = new RateLimiter()
    pace.setLimit(1)
    const { log, sent, batchQueue, dropped } = pipelineTo(() => delivered, { pace })
    for (let ms = 0; ms < 20_000; ms += 100) {
      for (const n of range(2000)) log(n)
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(sent.length).toBeLessThanOrEqual(21)
    expect(Math.max(...sent.map(({ lines }) => lines.length))).toBeGreaterThan(15_000)
    const { addedEvents, waitingEvents } = batchQueue.load()
    expect([addedEvents, dropped]).toEqual([400_000, []])
    expect(waitingEvents).toBeLessThan(60_000)
  })
})

describe('when the link takes longer for a batch than the time for a request', () => {
  /** A link that carries the requests side by side, and, as a system does, also those that were given up. */
  function slowLink(bytesPerSecond: number, requestTimeoutMs: number): Service {
    const waiting = new Map<() => void, number>()
    setInterval(() => {
      const share = bytesPerSecond / 10 / waiting.size
      for (const [arrive, bytes] of waiting) {
        waiting.set(arrive, bytes - share)
        if (bytes <= share && waiting.delete(arrive)) arrive()
      }
    }, 100)
    const noAnswer = { kind: 'retryable', reason: 'no complete answer', unanswered: 'silent' } as const
    return ({ lines }) =>
      new Promise(resolve => {
        waiting.set(() => resolve(delivered), lines.join('\n').length)
        setTimeout(resolve, requestTimeoutMs, noAnswer)
      })
  }

  it.each([500, 2000])('a backlog is delivered in smaller ones, at %i bytes per second', async bytesPerSecond => {
    const { log, arrived, sent } = pipelineTo(slowLink(bytesPerSecond, 30_000), { random: randomFrom(1) })
    const text = 'x'.repeat(230)
    const backlog = range(bytesPerSecond * 0.6) // the link needs two and a half minutes for these
    for (const n of backlog) log(n, { text })
    for (const n of range(75)) {
      log(backlog.length + n, { text })
      await vi.advanceTimersByTimeAsync(8000)
    }
    await vi.advanceTimersByTimeAsync(30_000)
    expect(sorted(numbers(arrived))).toEqual(range(backlog.length + 75))
    expect(sent.flatMap(({ lines }) => lines).length).toBeLessThan(7 * arrived.length)
  })
})

describe('when events would fill more than 40 requests per second', () => {
  const sizes = { maxBatchBytes: 10_000, maxUnlimitedBytes: 40_000, maxBatchAgeMs: 100 }
  const bytesOf = ({ lines }: { lines: readonly string[] }) => lines.join('\n').length + 1

  it('batches grow, and shrink back afterwards', async () => {
    const { log, sent, arrived } = pipelineTo(() => delivered, sizes)
    for (const n of range(800)) {
      log(n, { text: 'x'.repeat(1000) })
      if (n % 20 === 0) await vi.advanceTimersByTimeAsync(5)
    }
    await vi.advanceTimersByTimeAsync(1000)
    const largest = Math.max(...sent.map(bytesOf))
    expect(largest).toBeGreaterThan(38_000)
    expect(largest).toBeLessThanOrEqual(40_000)
    expect(sent.length).toBeLessThan(40)
    const before = sent.length
    for (const n of range(100)) log(800 + n, { text: 'x'.repeat(1000) })
    await vi.advanceTimersByTimeAsync(1000)
    expect(Math.max(...sent.slice(before).map(bytesOf))).toBeLessThanOrEqual(10_000)
    expect(sorted(numbers(arrived))).toEqual(range(900))
  })

  it('batches grow no further than the service accepts', async () => {
    const { log, sent, arrived, warnings } = pipelineTo(
      request => (bytesOf(request) > 25_000 ? tooLarge : delivered),
      sizes,
    )
    for (const n of range(4000)) {
      log(n, { text: 'x'.repeat(1000) })
      if (n % 20 === 0) await vi.advanceTimersByTimeAsync(5)
    }
    await vi.advanceTimersByTimeAsync(1000)
    // The requests in flight, and the request that shows that the trouble lasts.
    expect(sent.filter(request => bytesOf(request) > 25_000).length).toBeLessThanOrEqual(5)
    expect(warnings).toHaveLength(1)
    expect(sorted(numbers(arrived))).toEqual(range(4000))
  })

  it('the size that the service accepts is remembered, even if the 413 comes after the load', async () => {
    const { log, sent, arrived } = pipelineTo(
      async request => {
        await new Promise(resolve => setTimeout(resolve, 300))
        return bytesOf(request) > 25_000 ? tooLarge : delivered
      },
      { ...sizes, maxConcurrentRequests: 100 },
    )
    const load = async (from: number) => {
      for (const n of range(800)) {
        log(from + n, { text: 'x'.repeat(1000) })
        if (n % 20 === 0) await vi.advanceTimersByTimeAsync(5)
      }
      await vi.advanceTimersByTimeAsync(5000)
    }
    await load(0)
    expect(sent.some(request => bytesOf(request) > 25_000)).toBe(true)
    const before = sent.length
    await load(800)
    expect(sent.slice(before).some(request => bytesOf(request) > 25_000)).toBe(false)
    expect(sorted(numbers(arrived))).toEqual(range(1600))
  })
})

describe('when the service answers 413', () => {
  it('a batch is split until it fits, no event is lost, and the size that fits is kept', async () => {
    const { log, sent, arrived, delivery } = pipelineTo(
      ({ lines }) => (lines.join('\n').length > 10_000 ? tooLarge : delivered),
      {
        maxBatchAgeMs: 10,
      },
    )
    for (const n of range(100)) log(n, { text: 'x'.repeat(1000) })
    await vi.advanceTimersByTimeAsync(100)
    expect(sorted(numbers(arrived))).toEqual(range(100))
    expect(delivery.maxBatchBytes).toBeLessThanOrEqual(10_500)
    const before = sent.length
    for (const n of range(100)) log(n, { text: 'x'.repeat(1000) })
    await vi.advanceTimersByTimeAsync(100)
    expect(sent.length - before).toBeLessThanOrEqual(20)
    expect(arrived).toHaveLength(200)
  })

  it('a larger batch is tried again, ever more rarely while refused, and every size once accepted', async () => {
    let takes = 10_000
    const { log, sent, arrived, delivery } = pipelineTo(
      ({ lines }) => (lines.join('\n').length > takes ? tooLarge : delivered),
      { maxBatchAgeMs: 10 },
    )
    const logFor = async (seconds: number) => {
      const before = sent.length
      for (let second = 0; second < seconds; second++) {
        for (const n of range(100)) log(n, { text: 'x'.repeat(1000) })
        await vi.advanceTimersByTimeAsync(1000)
      }
      return sent.slice(before).filter(({ lines }) => lines.join('\n').length > takes).length
    }
    await logFor(10)
    expect(await logFor(600)).toBeLessThanOrEqual(7)
    takes = 1_000_000
    await logFor(600)
    expect(delivery.maxBatchBytes).toBe(1_048_576)
    expect(arrived).toHaveLength(121_000)
  })

  it('every size is tried again, whatever the lengths of the lines', async () => {
    const random = randomFrom(7)
    let takes = 10_000
    const { log, delivery } = pipelineTo(({ lines }) => (lines.join('\n').length > takes ? tooLarge : delivered), {
      maxBatchAgeMs: 10,
    })
    const logFor = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        for (const n of range(100)) log(n, { text: 'x'.repeat(1 + 2000 * random()) })
        await vi.advanceTimersByTimeAsync(1000)
      }
    }
    await logFor(10)
    expect(delivery.maxBatchBytes).toBeLessThanOrEqual(10_500)
    takes = 1_000_000
    await logFor(60)
    expect(delivery.maxBatchBytes).toBe(1_048_576)
  })

  it('for a moment to batches of every size, no size is learned and no event is lost', async () => {
    let isTroubled = true
    const { log, sent, arrived, delivery, ledger } = pipelineTo(() => (isTroubled ? tooLarge : delivered), {
      maxBatchAgeMs: 100,
    })
    for (const n of range(3000)) {
      log(n, { text: 'x'.repeat(300) })
      await vi.advanceTimersByTimeAsync(1)
    }
    expect(sent.length).toBeLessThanOrEqual(60)
    isTroubled = false
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sorted(numbers(arrived))).toEqual(range(3000))
    expect(ledger.dropped).toBe(0)
    expect(delivery.maxBatchBytes).toBe(1_048_576)
  })

  it('a batch larger than the current batch size is still sent as it is', async () => {
    const answers: ((outcome: Outcome) => void)[] = []
    const { log, sent, batchQueue } = pipelineTo(() => new Promise(resolve => answers.push(resolve)), {
      maxConcurrentRequests: 1,
      maxBatchAgeMs: 10,
    })
    log(0)
    await vi.advanceTimersByTimeAsync(20)
    for (const n of range(100)) log(n + 1, { text: 'x'.repeat(1000) })
    batchQueue.limits.maxBatchBytes = 10_000
    answers[0]?.(delivered)
    await vi.advanceTimersByTimeAsync(20)
    expect(sent.map(({ lines }) => lines.length)).toEqual([1, 100])
  })

  it('a single event that is too large is dropped, counted and reported', async () => {
    const { log, refused, ledger, arrived } = pipelineTo(({ lines }) =>
      lines.join().includes('big') ? tooLarge : delivered,
    )
    for (const n of range(50)) log(n, { text: n === 17 ? 'big' : 'small' })
    await vi.advanceTimersByTimeAsync(5000)
    expect(numbers(arrived)).toHaveLength(49)
    expect(ledger.drops()).toEqual({ 'too-large': { info: 1 } })
    expect(refused).toEqual([{ dataset: 'd', event: { n: 17, text: 'big' }, status: 413, reason: 'too large' }])
  })
})

describe('when the service refuses events', () => {
  it.each([
    ['none', 30],
    ['zstd', 32],
  ] as const)(
    'one poison event among 10,000 costs only itself, in at most 32 requests (%s)',
    async (compression, most) => {
      const { log, sent, arrived, ledger, refused } = pipelineTo(
        ({ lines }) => (lines.some(line => line.includes('poison')) ? rejected : delivered),
        { compression },
      )
      for (const n of range(10_000)) log(n, { severity: 4, text: n === 4321 ? 'poison' : '' })
      await vi.advanceTimersByTimeAsync(5000)
      expect(numbers(arrived)).toHaveLength(9999)
      expect(sent.length).toBeLessThanOrEqual(most)
      expect(ledger.drops()).toEqual({ rejected: { error: 1 } })
      expect(refused).toEqual([{ dataset: 'd', event: { n: 4321, text: 'poison' }, status: 400, reason: 'bad' }])
    },
  )

  it.each([
    ['the first', [0]],
    ['the last', [9999]],
    ['two neighbors', [5000, 5001]],
    ['two far apart', [17, 9000]],
  ])('%s of 10,000 events being poison costs only the poison', async (_, poison) => {
    const { log, sent, arrived, ledger } = pipelineTo(({ lines }) =>
      lines.some(line => poison.includes(JSON.parse(line).n)) ? rejected : delivered,
    )
    for (const n of range(10_000)) log(n)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sorted(numbers(arrived))).toEqual(range(10_000).filter(n => !poison.includes(n)))
    expect(sent.length).toBeLessThanOrEqual(32 * poison.length)
    expect(ledger).toMatchObject({ dropped: poison.length, pending: 0 })
  })

  it.each([100, 10_000])('two poison events in each hundred of %d cost only themselves', async count => {
    const { log, arrived, ledger } = pipelineTo(({ lines }) =>
      lines.some(line => JSON.parse(line).n % 50 === 7) ? rejected : delivered,
    )
    for (const n of range(count)) log(n)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(sorted(numbers(arrived))).toEqual(range(count).filter(n => n % 50 !== 7))
    expect(ledger).toMatchObject({ dropped: count / 50, pending: 0 })
  })

  it.each(range(8).map(n => (n % 2 === 0 ? 50 : 10)))(
    'one poison event in each %d of 10,000 holds up the others for seconds only',
    async one => {
      const { log, arrived, ledger } = pipelineTo(async ({ lines }) => {
        await new Promise(resolve => setTimeout(resolve, 1 + Math.random()))
        return lines.some(line => JSON.parse(line).n % one === 7) ? rejected : delivered
      })
      for (const n of range(10_000)) log(n)
      await vi.advanceTimersByTimeAsync(12_000)
      expect(numbers(arrived)).toHaveLength(10_000 - 10_000 / one)
      expect(ledger).toMatchObject({ dropped: 10_000 / one, pending: 0 })
    },
  )

  it.each<[string, number, number, Outcome]>([
    ['the first ones of all', 0, 1000, rejected],
    ['after others', 100, 1000, rejected],
    ['by a firewall', 100, 100, blocked],
  ])('many poison events in a row (%s) hold up later events for seconds only', async (_, before, poison, refusal) => {
    const isPoison = (n: number) => n >= before && n < before + poison
    const { log, arrived, ledger } = pipelineTo(({ lines }) => (numbers(lines).some(isPoison) ? refusal : delivered))
    for (const n of range(before)) log(n)
    await vi.advanceTimersByTimeAsync(1100)
    for (const n of range(poison)) log(before + n)
    let logged = before + poison
    const logGood = async (seconds: number) => {
      for (const _ of range(10 * seconds)) {
        log(logged++)
        await vi.advanceTimersByTimeAsync(100)
      }
    }
    await logGood(15)
    expect(numbers(arrived).length).toBeGreaterThan(before + 80)
    await logGood(285)
    await vi.advanceTimersByTimeAsync(2000)
    expect(sorted(numbers(arrived))).toEqual(range(logged).filter(n => !isPoison(n)))
    expect(ledger).toMatchObject({ dropped: poison, pending: 0 })
  })

  it.each(range(4))(
    'a dataset of which every event is refused loses them between a minute and 100 s later, while others are accepted (%i)',
    async () => {
      const { log, ledger } = pipelineTo(({ dataset }) => (dataset === 'bad' ? rejected : delivered))
      for (const n of range(100)) log(n, { dataset: 'bad' })
      const logGood = async (seconds: number) => {
        for (const second of range(seconds)) {
          log(second, { dataset: 'good' })
          await vi.advanceTimersByTimeAsync(1000)
        }
      }
      await logGood(58)
      expect(ledger.dropped).toBe(0)
      await logGood(22)
      expect(ledger.dropped).toBeGreaterThanOrEqual(99)
      await logGood(20)
      expect(ledger.dropped).toBe(100)
    },
  )

  it('drops only the refused events of a batch, however long their search takes at a low rate', async () => {
    const poison = [0, 1, 2, 3, 4, 700, 701, 1500, 2250, 2999]
    const isPoison = ({ dataset, lines }: { dataset: string; lines: readonly string[] }) =>
      dataset === 'd' && lines.some(line => poison.includes(JSON.parse(line).n))
    const slow = pipelineTo(
      async request => {
        await new Promise(resolve => setTimeout(resolve, 12_000))
        return isPoison(request) ? rejected : delivered
      },
      { maxConcurrentRequests: 1, maxBatchEvents: 10_000 },
    )
    for (let n = 0; n < 3000; n++) slow.log(n)
    for (let minute = 0; minute < 90; minute++) {
      slow.log(minute, { dataset: 'other' })
      await vi.advanceTimersByTimeAsync(60_000)
    }
    expect(slow.refused.map(({ event }) => event?.n).sort((a, b) => Number(a) - Number(b))).toEqual(poison)
    expect(slow.ledger.pending).toBe(0)
  })

  it.each([rejected, { ...rejected, status: 422 }, tooLarge])(
    'a gateway that refuses everything for 8 s costs no event, and few requests: %o',
    async answer => {
      let isTroubled = false
      const { log, sent, arrived, ledger, warnings } = pipelineTo(() => (isTroubled ? answer : delivered), {
        maxBatchAgeMs: 100,
      })
      const logFor = async (fromMs: number, toMs: number) => {
        for (let n = fromMs; n < toMs; n++) {
          log(n, { dataset: `d${n % 3}` })
          await vi.advanceTimersByTimeAsync(1)
        }
      }
      await logFor(0, 2000)
      isTroubled = true
      const before = sent.length
      await logFor(2000, 10_000)
      expect(sent.length - before).toBeLessThanOrEqual(120)
      isTroubled = false
      await logFor(10_000, 20_000)
      await vi.advanceTimersByTimeAsync(5000)
      expect(sorted(numbers(arrived))).toEqual(range(20_000))
      expect(ledger).toMatchObject({ dropped: 0, pending: 0 })
      expect(warnings.some(({ code }) => code === 'LOGFERRY_PAUSED')).toBe(true)
    },
  )

  it('one of two gateways that refuses everything costs no event', async () => {
    const { log, arrived, ledger } = pipelineTo((_, count) => (count % 2 === 0 ? rejected : delivered), {
      maxBatchEvents: 10,
    })
    for (const n of range(5000)) {
      log(n)
      await vi.advanceTimersByTimeAsync(1)
    }
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sorted(numbers(arrived))).toEqual(range(5000))
    expect(ledger.dropped).toBe(0)
  })

  it('one of two gateways that is met at random costs hardly any event, and a minute later evidence counts as before', async () => {
    const random = randomFrom(1)
    let isBroken = true
    const { log, sent, arrived, refused, ledger } = pipelineTo(({ lines }) => {
      if (isBroken && random() < 0.5) return rejected
      return lines.some(line => line.includes('poison')) ? rejected : delivered
    })
    for (const n of range(2000)) {
      log(n, { dataset: `d${n % 20}` })
      await vi.advanceTimersByTimeAsync(50)
    }
    isBroken = false
    for (const n of range(20)) log(2000 + n, { dataset: `d${n}` })
    await vi.advanceTimersByTimeAsync(120_000)
    expect(refused.length).toBeLessThan(10)
    expect(arrived).toHaveLength(2020 - refused.length)
    expect(ledger.pending).toBe(0)
    const before = { refused: refused.length, sent: sent.length }
    log(0, { dataset: 'd0', text: 'poison' })
    await vi.advanceTimersByTimeAsync(1000)
    log(1, { dataset: 'd0' })
    await vi.advanceTimersByTimeAsync(2000)
    expect(refused.length - before.refused).toBe(1)
    expect(sent.length - before.sent).toBeLessThan(7)
  })

  it('a single poison event is kept until the service accepts another event of its dataset', async () => {
    const { log, sent, arrived, ledger, refused, warnings } = pipelineTo(({ lines }) =>
      lines.some(line => line.includes('poison')) ? rejected : delivered,
    )
    log(1, { text: 'poison' })
    await vi.advanceTimersByTimeAsync(50_000)
    expect(sent.length).toBeLessThanOrEqual(7)
    expect(ledger.pending).toBe(1)
    expect(warnings.map(({ code }) => code)).toEqual(['LOGFERRY_REJECTED'])
    expect(warnings[0]?.message).toMatch(/400 bad.*kept/)
    log(2)
    await vi.advanceTimersByTimeAsync(1100)
    expect(numbers(arrived)).toEqual([2])
    expect(refused.map(({ event }) => event?.n)).toEqual([1])
    expect(ledger.pending).toBe(0)
  })

  it('a refused event that was handed off is no evidence against events that are logged later', async () => {
    let isRefusing = true
    const { log, delivery, arrived, dropped } = pipelineTo(({ dataset }) =>
      dataset === 'd' && isRefusing ? rejected : delivered,
    )
    log(1)
    await vi.advanceTimersByTimeAsync(5000)
    delivery.abandon('closed', {
      isKept(batch) {
        batch.settle() // as the spool does
        return true
      },
    })
    await vi.advanceTimersByTimeAsync(300_000)
    log(2)
    for (let second = 0; second < 30; second++) {
      log(3 + second, { dataset: 'other' })
      await vi.advanceTimersByTimeAsync(1000)
    }
    isRefusing = false
    await vi.advanceTimersByTimeAsync(60_000)
    expect(dropped).toEqual([])
    expect(numbers(arrived)).toContain(2)
  })

  it('a dataset with only poison costs few requests, and its events are dropped while other datasets are accepted', async () => {
    const { log, sent, arrived, ledger, refused } = pipelineTo(({ dataset }) =>
      dataset === 'bad' ? rejected : delivered,
    )
    for (const n of range(10_000)) log(n, { dataset: 'bad' })
    for (const n of range(300)) {
      log(n, { dataset: 'good' })
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(arrived).toHaveLength(300)
    expect(sent.filter(({ dataset }) => dataset === 'bad').length).toBeLessThanOrEqual(150)
    expect(refused).toHaveLength(10_000)
    expect([ledger.dropped, ledger.pending]).toEqual([10_000, 0])
  })

  it('a service that accepts nothing gets few requests and costs no event; at the end, only events refused alone count as refused', async () => {
    const { log, sent, ledger, delivery, refused } = pipelineTo(() => rejected)
    for (const n of range(10_000)) log(n)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(sent.length).toBeLessThan(70)
    expect([ledger.dropped, ledger.pending]).toEqual([0, 10_000])
    delivery.abandon('closed')
    const alone = new Set(
      sent
        .map(({ lines }) => numbers(lines))
        .filter(({ length }) => length === 1)
        .flat(),
    ).size
    expect(alone).toBeGreaterThan(0)
    expect(ledger.drops()).toEqual({ rejected: { info: alone }, closed: { info: 10_000 - alone } })
    expect(refused).toHaveLength(alone)
    expect(refused[0]).toMatchObject({ status: 400, reason: 'bad' })
  })

  it('inside a 200, the events are counted and reported with their reasons, and none is sent again', async () => {
    const failures = [
      { timestamp: '2026-11-21T00:00:00.0000015Z', reason: 'too many fields' },
      { timestamp: undefined, reason: 'x' },
    ]
    const { batchQueue, ledger, sent, refused, warnings } = pipelineTo(() => ({
      kind: 'partly-rejected',
      failed: 3,
      failures,
    }))
    for (const n of range(10)) {
      ledger.admitted++
      batchQueue.enqueue('d', 3, lineOf(`{"_time":"2026-11-21T00:00:00.00000150${n}Z","n":${n}}`))
    }
    await vi.advanceTimersByTimeAsync(5000)
    expect(sent).toHaveLength(1)
    expect(ledger).toMatchObject({ delivered: 7, dropped: 3, pending: 0 })
    expect(ledger.drops()).toEqual({ rejected: { warn: 1, unknown: 2 } })
    expect(refused.map(({ event, reason }) => [event?.n, reason])).toEqual([
      [0, 'too many fields'],
      [undefined, 'x'],
      [undefined, 'no reason given'],
    ])
    expect(warnings[0]?.message).toMatch(/refused 3 events.*too many fields; x; no reason given/)
  })

  it.each<[string, Outcome]>([
    ['all of them', rejected],
    ['one by its time', { kind: 'partly-rejected', failed: 1, failures: [{ timestamp: '1', reason: 'x' }] }],
  ])('spooled lines that are not JSON are settled all the same: %s', async (_, outcome) => {
    const { batchQueue, ledger, refused, delivery } = pipelineTo(() => outcome)
    for (const text of ['{"_time":"1","n":1}', '{"_time":"2', 'null', '\u0000']) {
      ledger.admitted++
      batchQueue.enqueue('d', 3, lineOf(text))
    }
    await vi.advanceTimersByTimeAsync(5000)
    delivery.abandon('closed')
    expect(ledger.pending).toBe(0)
    expect(ledger.delivered + ledger.dropped).toBe(4)
    expect(refused.map(({ event }) => event?.n)).toContain(1)
  })
})

describe('when the service refuses the token, the dataset or the address', () => {
  it('ten minutes cost one warning and few probes, and no event is lost', async () => {
    const fixedAtMs = performance.now() + 600_000
    const { log, sent, arrived, warnings } = pipelineTo(() => (performance.now() < fixedAtMs ? blocked : delivered), {
      maxBatchEvents: 100,
    })
    for (let minute = 0; minute < 10; minute++) {
      for (const n of range(1000)) log(minute * 1000 + n)
      await vi.advanceTimersByTimeAsync(60_000)
    }
    expect(sent.length).toBeLessThanOrEqual(25)
    expect(warnings.map(({ code }) => code)).toEqual(['LOGFERRY_PAUSED'])
    expect(warnings[0]?.message).toMatch(/dataset "d" is paused: the service answers 403 \(no\)\. Check that the token/)
    await vi.advanceTimersByTimeAsync(61_000)
    expect(sorted(numbers(arrived))).toEqual(range(10_000))
  })

  it('a firewall that blocks all but small bodies is seen through while the batches that wait become ever larger', async () => {
    const isSmall = (lines: readonly string[]) => lines.join('\n').length < 4000
    const { log, arrived, ledger } = pipelineTo(({ lines }) => (isSmall(lines) ? delivered : blocked))
    for (let n = 0; n < 20_000; n += 100) {
      for (const of of range(100)) log(n + of, { text: 'x'.repeat(200) })
      await vi.advanceTimersByTimeAsync(100)
    }
    expect(arrived.length).toBeGreaterThan(15_000)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sorted(numbers(arrived))).toEqual(range(20_000))
    expect(ledger.dropped).toBe(0)
  })

  it('an accepted probe shows that others may be accepted, whatever the status of each was', async () => {
    let isWell = false
    const acceptedMs: number[] = []
    const { log } = pipelineTo(({ dataset }) => {
      const status = [401, 403, 404, 415, 400][Number(dataset) % 5] as number
      if (!isWell) return { kind: 'blocked', status, reason: 'no' }
      acceptedMs.push(performance.now())
      return delivered
    })
    for (const n of range(50)) log(n, { dataset: `${n}` })
    await vi.advanceTimersByTimeAsync(120_000)
    isWell = true
    await vi.advanceTimersByTimeAsync(70_000)
    expect(acceptedMs).toHaveLength(50)
    expect((acceptedMs.at(-1) as number) - (acceptedMs[0] as number)).toBeLessThan(1000)
  })

  it('an accepted probe shows that others may be accepted: all datasets are delivered soon', async () => {
    let isTokenValid = false
    const acceptedMs: number[] = []
    const { log, arrived, sent } = pipelineTo(() => {
      if (!isTokenValid) return { kind: 'blocked', status: 401, reason: 'no' }
      acceptedMs.push(Date.now())
      return delivered
    })
    for (const n of range(300)) log(n, { dataset: `d${n}` })
    await vi.advanceTimersByTimeAsync(600_000)
    expect(sent.length).toBeLessThan(300 * 22)
    isTokenValid = true
    await vi.advanceTimersByTimeAsync(120_000)
    expect(sorted(numbers(arrived))).toEqual(range(300))
    expect(Math.max(...acceptedMs) - Math.min(...acceptedMs)).toBeLessThan(5000)
  })

  it('a probe that a firewall blocks for its size is split, and further probes follow: all events are delivered', async () => {
    const answers: Outcome[] = [blocked, delivered, { kind: 'unsupported-encoding' }, blocked]
    const { log, arrived } = pipelineTo(() => answers.shift() ?? delivered, {
      maxConcurrentRequests: 1,
      maxBatchEvents: 64,
    })
    log(0) // blocked, and accepted with the next probe: a larger batch that is blocked after that is split
    await vi.advanceTimersByTimeAsync(1000)
    for (const n of range(256)) log(n + 1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(answers).toEqual([])
    expect(sorted(numbers(arrived))).toEqual(range(257))
  })

  it.each([0, 1, 100, 198, 199])(
    'if a firewall blocks event %d of 200, the others are delivered within seconds, wherever it is',
    async poison => {
      const { log, arrived } = pipelineTo(({ lines }) => (numbers(lines).includes(poison) ? blocked : delivered))
      for (const n of range(200)) log(n)
      await vi.advanceTimersByTimeAsync(12_000)
      expect(sorted(numbers(arrived))).toEqual(range(200).filter(n => n !== poison))
    },
  )

  it.each<Outcome>([blocked, rejected])(
    'a thousand datasets cost few requests after the first of each, and are delivered soon: %o',
    async answer => {
      let isWell = false
      const { log, arrived, sent } = pipelineTo(() => (isWell ? delivered : answer))
      for (const n of range(1000)) log(n, { dataset: `d${n}` })
      await vi.advanceTimersByTimeAsync(20_000)
      expect(sent.length).toBeLessThan(1000 + 64 + 20 * 40)
      isWell = true
      await vi.advanceTimersByTimeAsync(10_000)
      expect(sorted(numbers(arrived))).toEqual(range(1000))
    },
  )

  it('other datasets are delivered', async () => {
    const { log, arrived, ledger } = pipelineTo(({ dataset }) => (dataset === 'closed' ? blocked : delivered), {
      maxBatchEvents: 10,
    })
    for (const n of range(100)) log(n, { dataset: n % 2 === 0 ? 'closed' : 'open' })
    await vi.advanceTimersByTimeAsync(30_000)
    expect(numbers(arrived)).toEqual(range(100).filter(n => n % 2 === 1))
    expect(ledger.pending).toBe(50)
  })
})

describe('when the service does not accept the compression', () => {
  it('a 415 steps down for all batches, from zstd to gzip to none', async () => {
    const { log, sent, arrived, compression, warnings } = pipelineTo(
      ({ encoding }) => (encoding === 'none' ? delivered : { kind: 'unsupported-encoding' }),
      { compression: 'zstd', maxBatchEvents: 10 },
    )
    for (const n of range(100)) log(n)
    await vi.advanceTimersByTimeAsync(5000)
    expect(compression.encoding).toBe('none')
    expect(sorted(numbers(arrived))).toEqual(range(100))
    expect(sent.filter(({ encoding }) => encoding === 'none')).toHaveLength(10)
    expect(warnings.map(({ code }) => code)).toEqual(['LOGFERRY_STEPPED_DOWN'])
  })

  it('delivery steps up again when the service accepts the compression', async () => {
    let takes: string[] = ['none']
    const compression = new Compression('zstd')
    const { log, arrived } = pipelineTo(
      ({ encoding }) => (takes.includes(encoding) ? delivered : { kind: 'unsupported-encoding' }),
      { compression, maxBatchEvents: 10 },
    )
    for (let minute = 0; minute < 10; minute++) {
      for (const n of range(20)) log(20 * minute + n)
      await vi.advanceTimersByTimeAsync(60_000)
    }
    expect(compression.encoding).toBe('none')
    takes = ['none', 'gzip', 'zstd']
    for (let minute = 10; minute < 30; minute++) {
      for (const n of range(20)) log(20 * minute + n)
      await vi.advanceTimersByTimeAsync(60_000)
    }
    expect(compression.encoding).toBe('zstd')
    expect(sorted(numbers(arrived))).toEqual(range(600))
  })

  it('a 400 that disappears without compression steps down, and no event is lost', async () => {
    const { log, arrived, compression, ledger } = pipelineTo(
      ({ encoding }) => (encoding === 'zstd' ? rejected : delivered),
      {
        compression: 'zstd',
        maxBatchEvents: 10,
      },
    )
    for (const n of range(100)) log(n)
    await vi.advanceTimersByTimeAsync(5000)
    expect(compression.encoding).toBe('gzip')
    expect(sorted(numbers(arrived))).toEqual(range(100))
    expect(ledger.dropped).toBe(0)
  })

  it.each<Outcome>([
    { kind: 'retryable', status: 500, reason: 'cannot read the body' },
    { kind: 'retryable', status: 502, reason: 'the server has hung up' },
    { kind: 'blocked', status: 403, reason: 'forbidden by a rule' },
    { kind: 'blocked', status: 406, reason: 'not acceptable' },
  ])('an answer that does not say so steps down within a minute, and no event is lost ($status)', async refusal => {
    const text = 'x'.repeat(200)
    let takes = ['none']
    const { log, arrived, sent, compression, ledger, warnings } = pipelineTo(
      ({ encoding }) => (takes.includes(encoding) ? delivered : refusal),
      { compression: 'zstd', maxBatchEvents: 10 },
    )
    for (const n of range(100)) log(n, { text })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(compression.encoding).toBe('none')
    expect(sorted(numbers(arrived))).toEqual(range(100))
    expect(ledger.dropped).toBe(0)
    expect(warnings.map(({ code }) => code)).toContain('LOGFERRY_STEPPED_DOWN')
    const firstAtMs = sent.length
    for (let minute = 0; minute < 60; minute++) {
      for (const n of range(10)) log(100 + 10 * minute + n, { text })
      await vi.advanceTimersByTimeAsync(60_000)
    }
    expect(sent.slice(firstAtMs).filter(({ encoding }) => encoding !== 'none').length).toBeLessThan(10)
    takes = ['none', 'gzip', 'zstd']
    for (let minute = 60; minute < 240; minute++) {
      for (const n of range(10)) log(100 + 10 * minute + n, { text })
      await vi.advanceTimersByTimeAsync(60_000)
    }
    expect(compression.encoding).toBe('zstd')
    expect(sorted(numbers(arrived))).toEqual(range(2500))
  })

  it.each<Outcome>([
    { kind: 'retryable', status: 500, reason: 'an outage' },
    { kind: 'blocked', status: 403, reason: 'a token that is refused for a while' },
  ])('trouble that has other reasons is not blamed on the compression ($status)', async refusal => {
    for (const isRefused of [
      (_: number, atMs: number) => atMs < 100_000,
      (count: number) => count % 2 === 0, // one of two gateways in turn
      (count: number, atMs: number) => count % 2 === 0 && atMs % 60_000 < 30_000,
    ]) {
      const text = 'x'.repeat(200)
      const beganAtMs = performance.now()
      const { log, arrived, sent, compression } = pipelineTo(
        (_, count) => (isRefused(count, performance.now() - beganAtMs) ? refusal : delivered),
        { compression: 'zstd', maxBatchEvents: 10, maxConcurrentRequests: 1 },
      )
      for (let second = 0; second < 300; second++) {
        for (const n of range(10)) log(10 * second + n, { text })
        await vi.advanceTimersByTimeAsync(1000)
      }
      await vi.advanceTimersByTimeAsync(60_000)
      expect(compression.encoding).toBe('zstd')
      expect(sorted(numbers(arrived))).toEqual(range(3000))
      expect(sent.filter(({ encoding }) => encoding === 'none').length).toBeLessThan(8)
    }
  })

  it('a 415 without compression is about the media type: delivery pauses, and no event is lost', async () => {
    const { log, ledger, warnings } = pipelineTo(() => ({ kind: 'unsupported-encoding' }), { compression: 'none' })
    log(1)
    await vi.advanceTimersByTimeAsync(5000)
    expect(ledger.pending).toBe(1)
    expect(warnings.map(({ code }) => code)).toEqual(['LOGFERRY_PAUSED'])
    expect(warnings[0]?.message).toContain('Set contentType to the other media type')
  })

  it('a 415 to everything is asked for less and less often, as a 401 is', async () => {
    const requestsFor = async (outcome: Outcome) => {
      let requests = 0
      const { log } = pipelineTo(() => {
        requests++
        return outcome
      })
      log(1)
      await vi.advanceTimersByTimeAsync(300_000)
      return requests
    }
    const blocked = await requestsFor({ kind: 'blocked', status: 401, reason: 'no' })
    expect(await requestsFor({ kind: 'unsupported-encoding' })).toBeLessThan(blocked + 8)
  })
})

describe('an abandoned batch', () => {
  it('is counted once, whatever the service answers later, and its memory is freed', async () => {
    const answers: ((outcome: Outcome) => void)[] = []
    const { log, delivery, ledger, memory, dropped } = pipelineTo(() => new Promise(resolve => answers.push(resolve)), {
      maxBatchEvents: 10,
    })
    for (const n of range(95)) log(n, { severity: n < 50 ? 2 : 4 })
    await vi.advanceTimersByTimeAsync(0)
    delivery.abandon('closed')
    for (const answer of answers) answer(delivered)
    await vi.advanceTimersByTimeAsync(5000)
    expect(ledger).toMatchObject({ delivered: 0, dropped: 95, pending: 0 })
    expect(ledger.drops()).toEqual({ closed: { info: 50, error: 45 } })
    expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(95)
    expect(memory.usedBytes).toBe(0)
  })
})
