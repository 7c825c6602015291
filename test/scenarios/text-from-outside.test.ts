/** Texts of the service, of Redis and of directories: none stops delivery, and none does harm when it is printed. */
import { EventEmitter } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { createOrgClient } from '../../src/org.ts'
import { core, environmentFor } from '../exit/running.ts'
import { orgWith, startService } from '../org/service.ts'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { hostileText, unprintable } from '../support/hostile-text.ts'
import { watched } from '../support/laws.ts'
import { startRawServer } from '../support/raw-server.ts'
import { runScript } from '../support/run-script.ts'
import { until } from '../support/until.ts'

const token = 'xaat-0123456789-do-not-show'
const accessToken = 'access-0123456789-do-not-show'
/**
 * Returns the token as a service may repeat it, followed by hostile text. The places where texts are cut fall within
 * the token.
 */
const hostile = hostileText(
  `said ${token.toUpperCase()} `,
  `${Buffer.from(token).toString('hex')} xaat-<b>0123456789</b>-do-not-show ${'y'.repeat(60)}${token}`,
)
const forbidden = /xaat-|access-0|do-not-show|78616174/i

/** Fails if a printed text would do harm. */
function expectHarmless(told: string, maxChars = 2010): void {
  expect(told.length).toBeLessThan(maxChars)
  expect(told).not.toMatch(unprintable)
  expect(told).not.toContain('\n')
  expect(told).not.toMatch(forbidden)
}

/** Answers each request with the next of these answers, and then accepts everything. */
const answering = (...answers: ((request: WireRequest) => void)[]) =>
  startFaultServer(request => {
    if (!request.isWhole) return
    const answer = answers[request.index]
    if (answer === undefined) request.take()
    else answer(request)
  })

describe('text from the service', () => {
  it.each([
    ['403', 'in JSON', '403 Forbidden', JSON.stringify({ message: hostile })],
    ['403', 'in a page', '403 Forbidden', `<html><style>${hostile}</style><p>${hostile}</p></html>`],
    ['400', 'in JSON', '400 Bad Request', JSON.stringify({ error: hostile })],
    ['503', 'in a text', '503 Oops', hostile, 'retry-after: 1'],
    ['429', 'in JSON', '429 Slow Down', JSON.stringify({ reason: hostile }), 'retry-after: 1'],
    ['200', 'of an event', '200 OK', JSON.stringify({ failed: 1, failures: [{ error: hostile }] })],
  ])('with %s, %s, is shown as one short line without the token', async (_, __, status, body, ...headers) => {
    await using server = await answering(
      ...Array(5).fill((request: WireRequest) => request.answer(status, body, ...headers)),
    )
    await using logs = watched({ baseUrl: server.url, token })
    logs.log(0)
    await logs.flush(300)
    if (status === '400') await logs.close(0) // the event counts as the cause only at the end
    const { message } = await logs.whenWarned()
    expect(message).toContain('[token]')
    for (const told of [...logs.warnings.map(warning => warning.message), ...logs.rejections.map(one => one.reason)]) {
      expectHarmless(told)
      expect(told.match(/x+/g)?.join('').length ?? 0).toBeLessThan(210)
    }
  })

  it.each([
    ['zeros', `2026-11-21T10:00:00.${'0'.repeat(300_000)}`],
    ['dots', '.'.repeat(300_000)],
    ['digits', `2026-11-21T10:00:00.${'1'.repeat(300_000)}Z`],
  ])('with the time of an event in 300 KB of %s does not block the event loop', async (_, timestamp) => {
    const failures = Array.from({ length: 3 }, () => ({ timestamp, error: 'no' }))
    await using server = await answering(request => request.answer('200 OK', JSON.stringify({ failed: 3, failures })))
    await using logs = watched({ baseUrl: server.url, token })
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    logs.log(0, 3000)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    delay.disable()
    expect(delay.max / 1e6).toBeLessThan(1000)
    expect(logs.stats()).toMatchObject({ delivered: 2997, dropped: 3 })
  })

  it('about the organization and its license is shown as short lines without the tokens', async () => {
    const license = {
      validFrom: `2099-01-01T00:00:00.${'0'.repeat(100_000)}Z`,
      expiresAt: `2026-01-01T00:00:00.${'0'.repeat(100_000)}Z`,
      regions: [hostile, hostile],
    }
    const org = orgWith({ license, paymentStatus: 'failed', firstFailedPayment: accessToken + hostile })
    await using service = await startService(response => response.end(JSON.stringify(org)))
    await using logs = watched({
      baseUrl: { us: service.url, eu: service.url },
      region: 'eu',
      token,
      limits: { orgId: 'acme', accessToken: async () => accessToken },
    })
    await until(() => logs.warnings.length >= 2, 'both warnings')
    const messages = logs.warnings.map(({ message }) => message)
    expect(messages).toEqual([
      expect.stringContaining('payment status is failed since [token]said [token]'),
      expect.stringContaining('the configured region is eu'),
    ])
    for (const message of messages) expectHarmless(message, 600)
  })

  it('about an invalid organization is shown as short lines without the tokens, also in errors of the client and their causes', async () => {
    const list = '1,'.repeat(200_000)
    const answers = [
      JSON.stringify(orgWith({ name: { a: 1 }, license: { maxFields: hostile, validFrom: [hostile] } })),
      JSON.stringify(orgWith()).replace(/"regions":\[[^\]]*\]/, `"regions":[${list}1]`),
      '{'.repeat(500_000),
      hostile,
    ]
    let at = 0
    await using service = await startService(response => response.end(answers[at++ % answers.length]))
    await using client = createOrgClient({ baseUrl: service.url, accessToken: token })
    for (let n = 0; n < answers.length; n++) {
      const startedAt = performance.now()
      const error = await client.get('acme').catch(error => error as Error)
      expect(performance.now() - startedAt).toBeLessThan(1000)
      expect(error).toMatchObject({ code: 'INVALID_RESPONSE' })
      expectHarmless((error as Error).message)
    }
    await using logs = watched({ baseUrl: service.url, token, limits: { orgId: 'acme', accessToken } })
    expectHarmless((await logs.whenWarned()).message)
    expectHarmless(logs.stats().limits?.problem as string)
  })

  it('below HTTP, and of a dispatcher, is shown without the token, also in causes', async () => {
    const failing = {
      dispatch(_: unknown, handler: { onResponseError(controller: unknown, error: Error): void }): boolean {
        const error = Object.assign(new Error(hostile, { cause: new Error(hostile) }), { code: hostile })
        setImmediate(() => handler.onResponseError({ abort() {} }, error))
        return true
      },
    }
    const options = { baseUrl: 'https://logs.example', dispatcher: failing as never }
    await using logs = watched({ ...options, token, maxRetryDelayMs: 10 })
    logs.log(0)
    expectHarmless((await logs.whenWarned()).message)
    await using client = createOrgClient({ ...options, accessToken: token, timeoutMs: 2000 })
    const error = await client.get('acme').catch(error => error as Error)
    const printed = inspect(error)
    expect(printed).toContain('UNREACHABLE')
    expect(printed.length).toBeLessThan(20_000)
    expect(printed).not.toMatch(forbidden)
    expect(printed).not.toMatch(unprintable)
    expect(printed).not.toMatch(/^logferry: forged/m)
  })

  it('at process.exit() is printed as safely', async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.answer('403 Forbidden', JSON.stringify({ message: hostile }))
    })
    const { stderr } = await runScript(
      `${core()} log(0, 3); process.exit()`,
      environmentFor({ url: server.url, token }),
    )
    expect(stderr).toContain('[token]')
    expect(stderr).not.toMatch(forbidden)
    expect(stderr).not.toMatch(unprintable)
    expect(stderr).not.toMatch(/^logferry: forged/m)
  })
})

describe('text from Redis', () => {
  const limits = (redis: unknown) => ({ orgId: 'acme', accessToken, fleet: { redis: redis as never } })
  const licensed = () =>
    startService(response => response.end(JSON.stringify(orgWith({ license: { apiRateLimitPerSecond: 10 } }))))

  it.each([
    ['an error', `-ERR ${hostile.replaceAll(/[\r\n]/g, ' ')}\r\n`, '[token]'],
    ['a text', `$${Buffer.byteLength(hostile)}\r\n${hostile}\r\n`, 'no valid time'],
  ])('as %s is shown as one short line without the tokens', async (_, reply, told) => {
    const server = await startRawServer(socket => socket.write(reply))
    const redis = new Redis(server.url.replace('http', 'redis'), { enableReadyCheck: false, disableClientInfo: true })
    redis.on('error', () => {})
    await using service = await licensed()
    await using logs = watched({ baseUrl: service.url, token, limits: limits(redis) })
    await until(() => logs.warnings.length > 0, 'a warning')
    const { message } = logs.warnings[0] as { message: string }
    expect(message).toContain('the Redis of limits.fleet cannot be used (')
    expect(message).toContain(told)
    expectHarmless(message, 600)
    redis.disconnect()
    await server.close()
  })

  it.each([
    ['an error without a text', () => new Error('')],
    ['a value that is not an error', () => Symbol(hostile)],
    ['an event emitter', () => new EventEmitter()],
  ])('as %s is reported as well', async (_, thrown) => {
    const redis = { call: () => {}, eval: () => Promise.reject(thrown()) }
    await using service = await licensed()
    await using logs = watched({ baseUrl: service.url, token, limits: limits(redis) })
    expectHarmless((await logs.whenWarned()).message, 600)
  })
})

describe('a refused event with a timestamp of its own', () => {
  it('is the event in rejected.ndjson', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'logferry-'))
    const times = ['2026-11-21T10:00:01Z', '2026-11-21T10:00:02Z', '2026-11-21T10:00:03Z', '2026-11-21T10:00:03Z']
    const failures = [
      { timestamp: times[1], error: 'no' },
      { timestamp: times[2], error: 'nor this' },
    ]
    await using server = await answering(request => request.answer('200 OK', JSON.stringify({ failed: 2, failures })))
    await using logs = watched({ baseUrl: server.url, token, spool: { directory } })
    // The first member of each line is the timestamp of the next line.
    for (const [n, time] of times.entries()) logs.log(n, n + 1, { previous: times[n + 1], _time: time })
    logs.alsoLogged(1)
    logs.shipper.ship({ orderedAt: times[1], n: 4, _time: times[0] })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    const letters = readFileSync(join(directory, 'rejected.ndjson'), 'utf8').trim().split('\n')
    expect(letters.map(letter => JSON.parse(letter))).toMatchObject([
      { event: { n: 1 }, reason: 'no' },
      { reason: 'nor this (2 events of the batch have the timestamp "2026-11-21T10:00:03Z")' },
    ])
    expect(JSON.parse(letters[1] as string)).not.toHaveProperty('event')
    rmSync(directory, { recursive: true })
  })
})
