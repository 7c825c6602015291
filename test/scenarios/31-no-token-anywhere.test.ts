import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { LogferryLogRecordExporter } from '../../src/otel.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { core, environmentFor } from '../exit/running.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'
import { runScript } from '../support/run-script.ts'

const token = 'xaat-0123456789-do-not-show'

/** A service that repeats the token in every possible way, and then accepts events. */
const tellTale = () =>
  startFaultServer(request => {
    if (!request.isWhole) return
    const said = `<p>${token}</p> {"message":"bad ${token}"}`
    const answers = [
      () => request.answer(`403 Forbidden ${token}`, JSON.stringify({ message: `bad token ${token}` })),
      () => request.answer('500 Oops', said, `x-token: ${token}`),
      () => request.answer('307 Moved', said, `location: https://${token}.example/${token}`),
      () =>
        request.answer('200 OK', JSON.stringify({ failed: 1, failures: [{ error: `no ${token}`, timestamp: token }] })),
    ]
    const answer = answers[request.index]
    if (answer !== undefined) answer()
    else request.socket.end(`HTTP/9.9 ${token}\r\n\r\n`)
  })

describe('scenario 31: the token is not shown', () => {
  it('in warnings, diagnostics, stats or errors, or in any object of logferry, at any depth', async () => {
    await using server = await tellTale()
    await using logs = watched({ baseUrl: server.url, token, maxRetryDelayMs: 10, maxBatchEvents: 1 })
    const transport = new LogferryTransport({ shipper: logs.shipper })
    const exporter = new LogferryLogRecordExporter({ shipper: logs.shipper })
    const logger = winston.createLogger({ transports: [transport] })
    for (let round = 0; round < 6; round++) {
      logs.log(round)
      await logs.shipper.flush({ timeoutMs: 50 })
      void logs.shipper.close({ timeoutMs: 30 })
      await new Promise(resolve => setTimeout(resolve, 60))
    }
    expect(server.requests.length).toBeGreaterThanOrEqual(5)
    expect(server.requests[0]?.head).toContain(`authorization: Bearer ${token}`)
    const heard = [logs.warnings, logs.rejections, logs.drops]
    expect(logs.warnings.length).toBeGreaterThan(1)
    const all = [logs.shipper, transport, exporter, logger, logs.shipper.stats(), ...heard]
    for (const one of all) {
      expect(inspect(one, { depth: 20, showHidden: true, maxArrayLength: 10_000 })).not.toContain(token)
    }
    expect(JSON.stringify(heard)).toContain('[token]')
  })

  it.each([
    ['JSON', '{"detail":"bad xaat\\/0123\\u002b4567\\u003d"}'],
    ['HTML', '<p>bad xaat/0123&#43;4567&#x3D;</p>'],
    ['a URL', 'bad ?token=xaat%2F0123%2b4567%3D'],
    ['base64', `bad ${Buffer.from('Bearer xaat/0123+4567=').toString('base64')}`],
  ])('in a warning if the service escapes it by %s', async (_, body) => {
    await using server = await startFaultServer(request => {
      if (request.isWhole) request.answer('403 Forbidden', body)
    })
    await using logs = watched({ baseUrl: server.url, token: 'xaat/0123+4567=' })
    logs.log(0)
    await logs.flush(100)
    const { message } = await logs.whenWarned()
    expect(message).toContain('[token]')
    expect(message).not.toMatch(/0123|4567/)
  })

  it('on standard error, when the process ends during an error', async () => {
    await using server = await tellTale()
    const source = `${core()} log(0, 3); process.exit()`
    const { stdout, stderr } = await runScript(source, { ...environmentFor({ url: server.url, token }) })
    expect(server.requests[0]?.head.toLowerCase()).toContain(`authorization: bearer ${token}`)
    expect(stderr).toContain('[token]')
    expect(stdout + stderr).not.toContain(token)
  })
})
