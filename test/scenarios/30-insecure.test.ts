import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createShipper } from '../../src/index.ts'
import { core, environmentFor } from '../exit/running.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'
import { runScript } from '../support/run-script.ts'

const pem = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const loopback = { key: pem('../emulator/tls/key.pem'), cert: pem('../emulator/tls/cert.pem') }
const wrongHost = { key: pem('../support/tls/wrong-host.key.pem'), cert: pem('../support/tls/wrong-host.cert.pem') }
const expired = { key: pem('../support/tls/expired.key.pem'), cert: pem('../support/tls/expired.cert.pem') }

describe.concurrent('scenario 30: an insecure connection', () => {
  it.each([
    'http://logs.example',
    'http://10.0.0.1',
    'http://127.0.0.1.example',
    'http://[2001:db8::1]',
    'http://0.0.0.0',
    'http://api.localhost',
    'http://localhost.example',
  ])('plain http to %s is refused at construction, unless allowInsecure says otherwise', baseUrl => {
    const options = { baseUrl, token: 'a-token-of-tests', dataset: 'd' }
    expect(() => createShipper(options)).toThrow(expect.objectContaining({ option: 'baseUrl' }))
    expect(() => createShipper({ ...options, allowInsecure: true })).not.toThrow()
  })

  it.each([
    ['is signed by an unknown authority', loopback, undefined],
    ['is for another host', wrongHost, wrongHost.cert],
    ['has expired', expired, expired.cert],
    ['is signed by another than the CA given', loopback, wrongHost.cert],
  ])('a server whose certificate %s gets no token and no event', async (_, tls, ca) => {
    await using server = await startFaultServer(request => request.isWhole && request.take(), { tls })
    await using logs = watched({ baseUrl: server.url, maxRetryDelayMs: 50, ...(ca && { tls: { ca } }) })
    logs.log(0, 3)
    expect(await logs.flush(300)).toEqual({ complete: false, pending: 3 })
    expect((await logs.whenWarned()).message).toMatch(/certificate/)
    expect([server.requestCount, logs.stats().pending]).toEqual([0, 3])
  })
})

describe.concurrent('scenario 30: NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
  const unverified = { NODE_TLS_REJECT_UNAUTHORIZED: '0' }
  const ends = [
    ['the natural end', ''],
    ['process.exit()', 'process.exit()'],
  ] as const

  it.each(ends)('does not turn verification off if tls.ca is set: at %s', async (_, end) => {
    await using server = await startFaultServer(request => request.isWhole && request.take(), { tls: loopback })
    const source = `${core(`exitTimeoutMs: 500, tls: { ca: ${JSON.stringify(wrongHost.cert)} }`)} log(0, 3); ${end}`
    const { stderr } = await runScript(source, { ...environmentFor(server), ...unverified })
    expect(server.requestCount).toBe(0)
    expect(stderr).toContain('3 events could not be delivered')
  })

  it.each(ends)('turns verification off without tls.ca, with the warning of Node: at %s', async (_, end) => {
    await using server = await startFaultServer(request => request.isWhole && request.take(), { tls: loopback })
    const { stderr } = await runScript(`${core()} log(0, 3); ${end}`, { ...environmentFor(server), ...unverified })
    expect(server.numbers).toEqual([0, 1, 2])
    expect(stderr).toMatch(/^\(node:\d+\) Warning: Setting the NODE_TLS_REJECT_UNAUTHORIZED .* insecure/)
  })
})
