import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NotConfirmedError } from '../src/index.ts'
import { startFaultServer } from './support/fault-server.ts'
import { startShipping } from './support/shipping.ts'

const error = (properties: object) => expect.objectContaining({ name: 'NotConfirmedError', ...properties })

/** Returns the error of a promise. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'confirmed',
    (thrown: unknown) => thrown,
  )
}

describe('shipAndConfirm', () => {
  it('resolves when the service has taken the event, without waiting for more events', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxBatchAgeMs: 60_000 })
    const confirmed = shipper.shipAndConfirm({ n: 1 })
    expect(shipper.stats()).toMatchObject({ accepted: 1, pending: 1 })
    expect(await confirmed).toBeUndefined()
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
    expect(shipper.stats()).toMatchObject({ delivered: 1, pending: 0 })
  })

  it('does not say that the service refused an event which it refused among others only', async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole && server.requestCount === 1) request.answer('400 Bad Request', '{"message":"no"}')
    })
    await using shipping = await startShipping()
    const shipper = shipping.ship({ baseUrl: server.url, compression: 'none' })
    const failures = [1, 2, 3, 4].map(n => failure(shipper.shipAndConfirm({ n })))
    await expect.poll(() => server.requestCount).toBeGreaterThan(1)
    await shipper.close({ timeoutMs: 100 })
    expect(shipper.stats().drops).toEqual({ closed: { info: 4 } })
    for (const thrown of await Promise.all(failures)) expect(thrown).not.toHaveProperty('code', 'LOGFERRY_REJECTED')
  })

  it('takes the event at the call, whatever happens to the object afterwards', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const event = { n: 1 }
    const confirmed = shipper.shipAndConfirm(event)
    event.n = 2
    await confirmed
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
  })

  it('shares batches: 30,000 calls at once take a bounded number of requests', { timeout: 60_000 }, async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.take()
    })
    await using shipping = await startShipping()
    const shipper = shipping.ship({ baseUrl: server.url, maxBatchAgeMs: 60_000 })
    const calls = 30_000
    const options = { timeoutMs: 30_000 }
    await Promise.all(Array.from({ length: calls }, (_, n) => shipper.shipAndConfirm({ n }, options)))
    expect(shipper.stats()).toMatchObject({ delivered: calls, pending: 0 })
    expect(new Set(server.numbers).size).toBe(calls)
    expect(server.requestCount).toBeLessThanOrEqual(2 * (calls / 10_000))
  })

  it('makes no request for other datasets', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxBatchAgeMs: 60_000, dataset: ({ to }) => String(to) })
    shipper.ship({ n: 1, to: 'later' })
    await shipper.shipAndConfirm({ n: 2, to: 'now' })
    expect(shipping.emulator.datasets()).toEqual(['now'])
    expect(shipper.stats().pending).toBe(1)
  })

  it('survives retries', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxRetryDelayMs: 10 })
    shipping.emulator.faults.answerNext(3, { status: 503 })
    await shipper.shipAndConfirm({ n: 1 })
    expect(shipper.stats().retries).toBe(3)
  })

  it('rejects with the words of the service if it refuses the event, and only that event', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipping.emulator.faults.rejectEvents(({ n }) => n === 1, 'field n must not be 1')
    const results = await Promise.allSettled([0, 1, 2].map(n => shipper.shipAndConfirm({ n })))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const { reason } = results[1] as PromiseRejectedResult
    expect(reason).toBeInstanceOf(NotConfirmedError)
    expect(reason).toEqual(
      error({
        code: 'LOGFERRY_REJECTED',
        dropReason: 'rejected',
        status: 200,
        serviceReason: 'field n must not be 1',
        message: 'logferry: the service refused the event (200 field n must not be 1)',
      }),
    )
  })

  it('rejects if the service refuses the batch for this event', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxRetryDelayMs: 10 })
    shipping.emulator.faults.rejectRequests(({ n }) => n === 1, { status: 400, body: { message: 'malformed' } })
    const calls = [0, 1, 2].map(n => shipper.shipAndConfirm({ n }))
    const evidence = setInterval(() => shipper.ship({ n: 3 }), 50) // accepted events show that event 1 is to blame
    const results = await Promise.allSettled(calls)
    clearInterval(evidence)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((results[1] as PromiseRejectedResult).reason).toEqual(
      error({ code: 'LOGFERRY_REJECTED', dropReason: 'rejected', status: 400, serviceReason: 'malformed' }),
    )
  })

  it('confirms no event of which the service may have spoken without naming it', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.answer('200 OK', '{"ingested":2,"failed":1,"failures":[{"error":"bad"}]}')
    })
    await using shipping = await startShipping()
    const shipper = shipping.ship({ baseUrl: server.url })
    const results = await Promise.all([1, 2, 3].map(n => failure(shipper.shipAndConfirm({ n }))))
    const doubt = error({ code: 'LOGFERRY_REJECTED', dropReason: undefined, status: 200, serviceReason: 'bad' })
    expect(results).toEqual([doubt, doubt, doubt])
    expect((results[0] as Error).message).toContain('this event may be one of them')
    expect(shipper.stats()).toMatchObject({ delivered: 2, dropped: 1 })
  })

  it('names the answer for which the event waits, when the time is up', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ token: 'a-wrong-token' })
    const thrown = await failure(shipper.shipAndConfirm({ n: 1 }, { timeoutMs: 1000 }))
    const message = expect.stringMatching(
      /within 1000 ms, because the service answers 403 \(.+\) for dataset "d"; it is kept/,
    )
    expect(thrown).toEqual(error({ code: 'LOGFERRY_TIMEOUT', message }))
  })

  it('rejects after the time, keeps the event, and delivers it later', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ maxRetryDelayMs: 10 })
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const thrown = await failure(shipper.shipAndConfirm({ n: 1 }, { timeoutMs: 50 }))
    const message = expect.stringMatching(
      /^logferry: the event was not confirmed within 50 ms.*; it is kept, and may still be delivered$/,
    )
    expect(thrown).toEqual(error({ code: 'LOGFERRY_TIMEOUT', dropReason: undefined, message }))
    expect(shipper.stats()).toMatchObject({ pending: 1, dropped: 0 })
    shipping.emulator.faults.clear()
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
  })

  it('rejects if the event is dropped in its log call', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ dataset: () => '' })
    expect(await failure(shipper.shipAndConfirm({ n: 1 }))).toEqual(
      error({ code: 'LOGFERRY_DROPPED', dropReason: 'dataset', status: undefined }),
    )
    expect(shipper.stats()).toMatchObject({ accepted: 1, dropped: 1 })
  })

  it('rejects if close() gives the event up', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipping.emulator.faults.latencyMs = 10_000
    const thrown = failure(shipper.shipAndConfirm({ n: 1 }))
    await shipper.close({ timeoutMs: 50 })
    expect(await thrown).toEqual(error({ code: 'LOGFERRY_DROPPED', dropReason: 'closed' }))
  })

  it('rejects with LOGFERRY_SPOOL if close() hands the event off', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'logferry-receipts-'))
    await using shipping = await startShipping()
    const shipper = shipping.ship({ spool: { directory: directory.path } })
    shipping.emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    const thrown = failure(shipper.shipAndConfirm({ n: 1 }))
    await shipper.close({ timeoutMs: 50 })
    expect(await thrown).toEqual(error({ code: 'LOGFERRY_SPOOL', dropReason: undefined }))
  })

  it.each([
    [Number.NaN, 'RangeError'],
    [-1, 'RangeError'],
    ['1', 'TypeError'],
  ])('refuses a time that is none (%s), and ships nothing', async (timeoutMs, name) => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    const refused = { name, code: 'LOGFERRY_INVALID_OPTION', option: 'timeoutMs' }
    expect(await failure(shipper.shipAndConfirm({ n: 1 }, { timeoutMs } as never))).toMatchObject(refused)
    expect(shipper.stats().accepted).toBe(0)
  })

  it('confirms the event alone, whatever becomes of others that are logged while it is read', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(({ n }) => n === 'inner', 'not wanted')
    const shipper = shipping.ship()
    let reads = 0 // two if `JSON.stringify` after a walk is the faster way at present
    const event = {
      get n() {
        reads++
        shipper.ship({ n: 'inner' })
        return 'outer'
      },
    }
    expect(await shipper.shipAndConfirm(event)).toBeUndefined()
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 'outer' }])
    expect(shipper.stats().drops.rejected?.info).toBe(reads)
  })

  it('does not confirm an event that is refused, although another one is confirmed that was logged while it was read', async () => {
    await using shipping = await startShipping()
    shipping.emulator.faults.rejectEvents(({ n }) => n === 'outer', 'not wanted')
    const inner: Promise<unknown>[] = []
    const context = () => {
      if (inner.push(Promise.resolve()) === 1) inner.push(failure(shipper.shipAndConfirm({ n: 'inner' })))
      return {}
    }
    const shipper = shipping.ship({ context })
    expect(await failure(shipper.shipAndConfirm({ n: 'outer' }))).toEqual(error({ code: 'LOGFERRY_REJECTED' }))
    expect(await Promise.all(inner)).toContain('confirmed')
  })

  it('confirms no event that only waits in memory: `hold` does not apply', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ hold: {} })
    shipper.ship({ level: 'info', n: 'held', trace_id: 't1' })
    await shipper.shipAndConfirm({ level: 'info', n: 'awaited', trace_id: 't1' })
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 'awaited' }])
    expect(shipper.stats().held).toBe(1)
  })

  it('ships an event below the minimum severity', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship({ minSeverity: 'error' })
    await shipper.shipAndConfirm({ level: 'info', n: 1 })
    expect(shipping.emulator.events('d')).toMatchObject([{ n: 1 }])
  })
})
