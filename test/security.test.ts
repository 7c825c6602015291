import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { isTracingSuppressed } from '@opentelemetry/core'
import { Agent } from 'undici'
import { describe, expect, it } from 'vitest'
import { createOrgClient } from '../src/org.ts'
import { startShipping } from './support/shipping.ts'

const pem = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const loopback = { key: pem('./emulator/tls/key.pem'), cert: pem('./emulator/tls/cert.pem') }
const wrongHost = { key: pem('./support/tls/wrong-host.key.pem'), cert: pem('./support/tls/wrong-host.cert.pem') }
const expired = { key: pem('./support/tls/expired.key.pem'), cert: pem('./support/tls/expired.cert.pem') }

describe('TLS', () => {
  it.each([
    ['is signed by an unknown authority', loopback, undefined, /self.signed/i],
    ['is another host’s', wrongHost, wrongHost.cert, /ALTNAME|altnames/i],
    ['has expired', expired, expired.cert, /expired/i],
  ])('a server whose certificate %s gets no token and no event', async (_, tls, ca, reason) => {
    await using shipping = await startShipping({ tls })
    const dispatcher = ca === undefined ? undefined : new Agent({ connect: { ca } })
    const shipper = shipping.ship({ dispatcher, maxRetryDelayMs: 10 })
    shipper.ship({ n: 1 })
    expect(await shipper.flush({ timeoutMs: 400 })).toEqual({ complete: false, pending: 1 })
    expect(shipping.emulator.requests()).toEqual([])
    expect(shipping.warnings[0]?.message).toMatch(reason)
    expect(shipping.warnings[0]?.message).toContain('certificates')
    await dispatcher?.destroy()
  })

  it('a server whose certificate is signed by the private CA of the application is trusted', async () => {
    await using shipping = await startShipping({ tls: loopback })
    const dispatcher = new Agent({ connect: { ca: loopback.cert } })
    const shipper = shipping.ship({ dispatcher })
    shipper.ship({ n: 1 })
    expect(await shipper.close()).toEqual({ complete: true, pending: 0 })
    expect(shipping.emulator.eventCount('d')).toBe(1)
    await dispatcher.close()
  })
})

describe('tls.ca', () => {
  it('also applies to reads of the organization', async () => {
    await using shipping = await startShipping({ tls: loopback })
    const { url: baseUrl, accessToken, orgId } = shipping.emulator
    await using client = createOrgClient({ baseUrl, accessToken, tls: { ca: loopback.cert } })
    expect(await client.get(orgId)).toMatchObject({ id: orgId })
    const shipper = shipping.ship({ tls: { ca: loopback.cert }, limits: { orgId, accessToken } })
    while (shipper.stats().limits?.readAt === undefined) await new Promise(resolve => setTimeout(resolve, 10))
    expect(shipper.stats().limits?.problem).toBeUndefined()
  })
})

describe('tracing', () => {
  it('requests of logferry create no spans, and inherit none', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const suppressed: boolean[] = []
    class Watching extends Agent {
      override dispatch(...args: Parameters<Agent['dispatch']>): boolean {
        suppressed.push(isTracingSuppressed(context.active()))
        return super.dispatch(...args)
      }
    }
    await using shipping = await startShipping()
    const dispatcher = new Watching()
    const shipper = shipping.ship({ dispatcher })
    const spanContext = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }
    await context.with(trace.setSpanContext(context.active(), spanContext), async () => {
      shipper.ship({ n: 1 })
      await shipper.close()
    })
    context.disable()
    expect(suppressed).toEqual([true])
    await dispatcher.close()
  })
})

describe('tracing, over connections of logferry', () => {
  it('is suppressed as well', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const suppressed: boolean[] = []
    const watch = () => suppressed.push(isTracingSuppressed(context.active()))
    subscribe('http.client.request.created', watch)
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    shipper.ship({ n: 1 })
    await shipper.close()
    unsubscribe('http.client.request.created', watch)
    context.disable()
    expect(suppressed).toEqual([true])
  })
})

describe('a token', () => {
  it('is in no object of logferry, in any state', async () => {
    await using shipping = await startShipping()
    const { token, personalAccessToken, orgId } = shipping.emulator
    const byToken = shipping.ship()
    const byPersonalToken = shipping.ship({ token: undefined, personalAccessToken, orgId })
    for (const used of [token, personalAccessToken]) {
      shipping.emulator.faults.answerNext(1, { status: 403, body: { message: `not ${used}` } })
    }
    const told: unknown[] = []
    for (const shipper of [byToken, byPersonalToken]) {
      shipper.on('dropped', notice => told.push(notice)).on('rejected', notice => told.push(notice))
      shipper.on('delivered', notice => told.push(notice))
      shipper.ship({ n: 1 })
      await shipper.flush({ timeoutMs: 100 })
      await shipper.close()
    }
    expect(told).toHaveLength(2)
    const shown = inspect(
      [byToken, byPersonalToken, byToken.stats(), shipping.warnings, told, shipping.emulator.requests()],
      {
        depth: 20,
        showHidden: true,
      },
    )
    expect(shown).not.toContain(token)
    expect(shown).not.toContain(personalAccessToken)
  })
})
