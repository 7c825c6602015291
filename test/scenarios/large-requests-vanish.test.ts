import { Agent } from 'undici'
import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

/** A way that loses large packets: small requests are answered, and nothing more of a larger one arrives. */
const startNarrow = () =>
  startFaultServer(request => {
    if (request.isWhole && request.body.length < 5000) request.take()
  })

describe.concurrent('a way to the service that loses large packets', () => {
  it.each([
    ['by default', 'no complete answer within 400 ms', () => ({ requestTimeoutMs: 400 })],
    [
      "by the time limit of the application's dispatcher",
      'Headers Timeout Error',
      () => ({ dispatcher: new Agent({ headersTimeout: 400 }) }),
    ],
  ])(
    'is named as soon as a large request had no answer, and a later small one had: %s',
    async (_, reason, timeLimit) => {
      await using server = await startNarrow()
      const options = { ...timeLimit(), maxBatchAgeMs: 20, compression: 'none' } as const
      await using logs = watched({ baseUrl: server.url, ...options })
      logs.log(0, 100, { text: 'x'.repeat(100) })
      await until(() => server.requestCount === 1, 'the large request is made')
      logs.log(100)
      const { code, message } = await logs.whenWarned()
      expect(code).toBe('LOGFERRY_UNREACHABLE')
      expect(message).toMatch(
        /no answer to a batch of 1\d{4} bytes \(.*\), and it accepts a later one of \d{2,3} bytes\. .*MTU/,
      )
      expect(message).toContain(`(${reason})`)
      expect(server.requestCount).toBeLessThanOrEqual(3)
      await logs.close(0)
    },
  )

  it('is named when close() ends before the time for a request', async () => {
    await using server = await startNarrow()
    await using logs = watched({ baseUrl: server.url, maxBatchAgeMs: 20, compression: 'none' })
    logs.log(0, 100, { text: 'x'.repeat(100) })
    await until(() => server.requestCount === 1, 'the large request is made')
    logs.log(100)
    await logs.close(1100)
    expect(logs.warnings.map(({ message }) => message).join()).toMatch(
      /100 events could not be delivered within 1100 ms \(a batch of 1\d{4} bytes has had no answer for \d{4} ms, and it accepts a later one of \d+ bytes\)\. .*MTU/,
    )
  })

  it('is not blamed if nothing is answered', async () => {
    await using server = await startFaultServer(() => {})
    await using logs = watched({ baseUrl: server.url, compression: 'none' })
    logs.log(0, 100, { text: 'x'.repeat(100) })
    await logs.close(1100)
    const told = logs.warnings.map(({ message }) => message).join()
    expect(told).toMatch(
      /\(a batch of 1\d{4} bytes has had no answer for \d{4} ms\)\. .*They are dropped\. Check the network/,
    )
    expect(told).not.toContain('MTU')
  })
})
