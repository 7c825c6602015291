/** Client certificates (`tls.cert`), with a service that asks for one. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { expiryHint } from '../../src/http/verified-tls.ts'
import { createShipper, type Warning } from '../../src/index.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { until } from '../support/until.ts'

const pair = (path: string) => {
  const file = (kind: string) => readFileSync(new URL(`${path}${kind}.pem`, import.meta.url), 'utf8')
  return { cert: file('cert'), key: file('key') }
}
const [localhost, other] = [pair('../emulator/tls/'), pair('../support/tls/wrong-host.')]
const expired = pair('../support/tls/expired.')

/** A service that takes events of clients with one of the certificates. Counts the events by the certificate. */
async function startService() {
  const events: Record<string, number> = { localhost: 0, other: 0 }
  const options = { ...localhost, ca: [localhost.cert, other.cert, expired.cert], requestCert: true }
  const server = createServer(options, async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('latin1')) body += chunk
    const { raw } = (request.socket as TLSSocket).getPeerX509Certificate() ?? {}
    const isOther = other.cert.includes(raw?.toString('base64').slice(0, 60) ?? '-')
    const name = isOther ? 'other' : 'localhost'
    events[name] = (events[name] ?? 0) + body.trimEnd().split('\n').length
    response.end('{}')
  })
  server.listen(0)
  await once(server, 'listening')
  return {
    events,
    with: (client: object) => ({
      baseUrl: `https://localhost:${(server.address() as AddressInfo).port}`,
      token: 't',
      dataset: 'd',
      compression: 'none' as const,
      tls: { ca: localhost.cert, ...client },
    }),
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe('a client certificate', () => {
  it('that has expired is named as the reason, with the remedy', async () => {
    using service = await startService()
    const shipper = createShipper(service.with(expired))
    const warned = new Promise<Warning>(resolve => shipper.on('warning', resolve))
    shipper.ship({ n: 1 })
    expect((await warned).message).toMatch(
      /; tls\.cert expired on \d{4}-\d\d-\d\dT[\d:.]+Z: a new shipper is needed, with the renewed certificate\)/,
    )
    await shipper.close({ timeoutMs: 0 })
    expect(service.events).toEqual({ localhost: 0, other: 0 })
  })

  it('whose date cannot be told is not named as the reason', () => {
    expect(expiryHint({ certExpiresMs: Number.NaN }, Date.now())).toBe('')
    expect(expiryHint({ certExpiresMs: undefined }, Date.now())).toBe('')
  })

  it('that is renewed goes into a new transport, and every event arrives once', async () => {
    using service = await startService()
    const before = new LogferryTransport(service.with(localhost))
    const logger = winston.createLogger({ transports: [before] })
    for (let n = 0; n < 100; n++) logger.info('before', { n })
    const after = new LogferryTransport(service.with(other))
    logger.add(after).remove(before)
    for (let n = 0; n < 50; n++) logger.info('after', { n })
    await until(() => Object.values(service.events).reduce((sum, count) => sum + count) >= 150, '150 events')
    await after.shipper.close()
    expect(service.events).toEqual({ localhost: 100, other: 50 })
  })
})
