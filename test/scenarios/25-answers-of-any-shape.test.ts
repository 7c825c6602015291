import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'

const bodies: readonly (readonly [what: string, body: string | Buffer, contentType: string])[] = [
  ['an HTML page', '<html><body><h1>Something</h1><script>x</script></body></html>', 'text/html'],
  ['nothing', '', 'application/json'],
  ['truncated JSON', '{"ingested": 10, "failed": 1', 'application/json'],
  ['JSON that is not an object', '[{"failed": 1}]', 'application/json'],
  ['null', 'null', 'application/json'],
  ['a failed that is not a number', '{"failed": "3", "failures": 7}', 'application/json'],
  ['a failed below zero', '{"failed": -3, "failures": [null]}', 'application/json'],
  ['bytes that are no text', Buffer.from([0, 255, 254, 128, 10]), 'application/octet-stream'],
  ['a wrong content type', '{"ingested": 10}', 'image/png'],
  ['100 KB', 'y'.repeat(100_000), 'text/plain'],
]

describe.concurrent('scenario 25: an answer is handled by its status alone', () => {
  it.each(bodies)('200 with %s: delivered, and not sent again', async (what, body, contentType) => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.store()
      request.answer('200 OK', body, `content-type: ${contentType}`)
    })
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 10)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 10)).toEqual(allOnce)
    expect(logs.stats().delivered).toBe(10)
    const said = 'the answer to 10 events for dataset "d" is a web page, not one of the service (Something)'
    const expected = what === 'an HTML page' ? [expect.stringContaining(said)] : []
    expect(logs.warnings.map(({ message }) => message)).toEqual(expected)
  })

  it('200 that counts none of the events as ingested: delivered, and said once', async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.answer('200 OK', '{"ingested":0,"failed":0,"failures":[]}')
    })
    await using logs = watched({ baseUrl: server.url })
    for (let start = 0; start < 30; start += 10) {
      logs.log(start, start + 10)
      await logs.flush()
    }
    expect(logs.stats()).toMatchObject({ delivered: 30, dropped: 0 })
    expect(logs.warnings.map(({ code, message }) => [code, message])).toEqual([
      ['LOGFERRY_REJECTED', expect.stringContaining('of 10 events for dataset')],
    ])
  })

  it.each(['101 Switching Protocols', '099 X', '000 X'])('%s is no answer: sent again', async status => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index < 6) request.answer(status, '')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, maxRetryDelayMs: 10 })
    logs.log(0, 10)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 10)).toEqual(allOnce)
    expect(logs.stats()).toMatchObject({ delivered: 10, retries: 6, requestsInFlight: 0 })
  })

  it.each(bodies)('500, 502, 503, 504, 408, 425, 429 with %s: sent again', async (_, body, contentType) => {
    const refusals = [
      '500 Oops',
      '502 Bad Gateway',
      '503 Service Unavailable',
      '504 Gateway Time-out',
      '408 X',
      '425 X',
    ]
    await using server = await startFaultServer(request => {
      const status = refusals[request.index]
      if (!request.isWhole) return
      if (status === undefined) request.take()
      else request.answer(status, body, `content-type: ${contentType}`)
    })
    await using logs = watched({ baseUrl: server.url, maxRetryDelayMs: 10 })
    logs.log(0, 10)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 10)).toEqual(allOnce)
    expect(logs.stats().retries).toBe(refusals.length)
  })

  it.each(bodies)('400 with %s to every request: reported as refused at the end', async (_, body, contentType) => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.answer('400 Bad Request', body, `content-type: ${contentType}`)
    })
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 10)
    expect(await logs.close(1500)).toEqual({ complete: false, pending: 0 })
    expect(logs.stats()).toMatchObject({ dropped: 10, drops: { rejected: { info: 10 } } })
    expect(logs.stats().requests).toBeLessThanOrEqual(60)
    for (const { message } of logs.warnings) expect(message).not.toMatch(/[<>\n\r\0]/)
  })

  it('200 that counts more failures than events: every event is counted once', async () => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.answer('200 OK', '{"failed": 1e9, "failures": [{"error": "no"}]}')
    })
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 10)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(logs.stats()).toMatchObject({ delivered: 0, dropped: 10 })
  })
})
