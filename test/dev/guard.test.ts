/** What another site, another name for this machine and another user can do with the dev service: nothing. */
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { paths, type Summary, writeHeader } from '../../src/dev/protocol.ts'
import { exchangeRaw } from '../emulator/wire.ts'
import { type Dev, rawRequest, startDev } from './service.ts'

const json = { 'content-type': 'application/json' }
const writes = [paths.view, paths.edit, paths.faults, paths.setup, paths.join, paths.testEvent, paths.clear]
const reads = Object.values(paths).filter(path => !writes.includes(path as never) || path === paths.faults)

describe('the guard of the dev service', () => {
  let dev: Dev
  let kept: number
  beforeAll(async () => {
    dev = await startDev(['--allow-host', 'logs.test', '--allow-origin', 'http://app.test:3000'])
    await dev.ingest([{ message: 'private' }])
    kept = (await dev.get<Summary>(paths.summary)).newest
  })
  afterAll(async () => {
    expect((await dev.get<Summary>(paths.summary)).newest).toBe(kept)
    await dev?.[Symbol.asyncDispose]()
  })

  it.each(reads)('%s answers no foreign Host, Origin or site', async path => {
    const port = new URL(dev.url).port
    for (const headers of [
      { host: `rebound.example:${port}` },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://localhost:${Number(port) + 1}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' },
    ]) {
      const answer = await dev.raw(path, { headers })
      expect([answer.status, answer.body.includes('private')]).toEqual([403, false])
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    }
  })

  it.each(writes)('%s takes no post that a form or a foreign page can make', async path => {
    const post = (headers: Record<string, string>, body = '{}') => dev.raw(path, { method: 'POST', headers, body })
    const own = { ...json, [writeHeader]: '1' }
    const statuses = await Promise.all([
      post({ 'content-type': 'text/plain', [writeHeader]: '1' }),
      post({ 'content-type': 'application/x-www-form-urlencoded' }, 'a=b'),
      post(json),
      post({ ...own, origin: 'https://evil.example' }),
      post({ ...own, host: 'rebound.example' }),
      post({ ...own, 'sec-fetch-site': 'same-site' }),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([415, 415, 403, 403, 403, 403])
  })

  it.each(['PUT', 'DELETE', 'OPTIONS', 'PATCH'])('%s reaches no path of page and API', async method => {
    for (const path of [paths.clear, paths.events, paths.live, '/dev/events', '/']) {
      expect((await dev.raw(path, { method, headers: { ...json, [writeHeader]: '1' } })).status).toBe(405)
    }
  })

  it('opens the page from a link on another site, but in no frame', async () => {
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    const opened = await dev.raw('/', { headers: { ...link, 'sec-fetch-dest': 'document' } })
    expect([opened.status, opened.headers.location]).toEqual([303, '/dev/events'])
    expect((await dev.raw('/dev/events', { headers: { ...link, 'sec-fetch-dest': 'iframe' } })).status).toBe(403)
    const page = await dev.raw('/dev/events', { headers: { ...link, 'sec-fetch-dest': 'document' } })
    expect(page.status).not.toBe(403)
    expect(page.headers).toMatchObject({ 'x-frame-options': 'DENY', 'cross-origin-opener-policy': 'same-origin' })
  })

  it.each(['localhost', '127.0.0.1', '[::1]', 'logs.test', 'LOCALHOST.'])('answers for the host %s', async host => {
    expect((await dev.raw(paths.summary, { headers: { host: `${host}:${new URL(dev.url).port}` } })).status).toBe(200)
  })

  it.each(['/v1/datasets/d/ingest', '/v1/logs', '/v1/traces'])(
    'lets no web page ingest at %s, with or without the token',
    async path => {
      const headers = { ...json, authorization: `Bearer ${dev.token}` }
      for (const origin of ['https://evil.example', 'null', dev.url]) {
        const answer = await dev.raw(path, { method: 'POST', headers: { ...headers, origin }, body: '[]' })
        expect(answer.status).toBe(403)
      }
      const asked = await dev.raw(path, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } })
      expect(asked.headers).not.toHaveProperty('access-control-allow-origin')
    },
  )

  it('lets a web page ingest from an origin that is allowed', async () => {
    const headers = { origin: 'http://app.test:3000' }
    const asked = await dev.raw('/v1/datasets/d/ingest', { method: 'OPTIONS', headers })
    expect([asked.status, asked.headers['access-control-allow-origin']]).toEqual([204, headers.origin])
    const options = {
      method: 'POST',
      headers: { ...headers, ...json, authorization: `Bearer ${dev.token}` },
      body: '[]',
    }
    const sent = await dev.raw('/v1/datasets/d/ingest', options)
    expect([sent.status, sent.headers['access-control-allow-origin']]).toEqual([200, headers.origin])
    expect((await dev.raw(paths.summary, { headers })).status).toBe(403)
  })

  it('takes events for any host with the token, and OTLP without it only for names of this machine', async () => {
    const container = { host: 'host.docker.internal:4800', ...json }
    const authorization = `Bearer ${dev.token}`
    const post = (path: string, headers: Record<string, string>, body: string) =>
      dev.raw(path, { method: 'POST', headers, body }).then(({ status }) => status)
    expect(await post('/v1/datasets/d/ingest', { ...container, authorization }, '[]')).toBe(200)
    expect(await post('/v1/datasets/d/ingest', container, '[]')).toBe(403)
    expect(await post('/v1/logs', { ...container, authorization }, '{}')).toBe(200)
    expect(await post('/v1/logs', container, '{}')).toBe(403)
    expect(await post('/v1/logs', json, '{}')).toBe(200)
  })

  it.each(['/v1/datasets/d/ingest', '/v1/logs'])(
    'takes no events at %s with two Host or two Authorization headers',
    async path => {
      const authorization = `Authorization: Bearer ${dev.token}`
      for (const headers of [
        ['Host: localhost', 'Host: other.example', authorization],
        ['Host: localhost', authorization, 'Authorization: Bearer other'],
      ]) {
        const head = [`POST ${path} HTTP/1.1`, ...headers, 'Content-Type: application/json', 'Content-Length: 2']
        const answer = await exchangeRaw({ port: Number(new URL(dev.url).port) }, socket =>
          socket.write([...head, 'Connection: close', '', '{}'].join('\r\n')),
        )
        expect(answer).toMatch(/^HTTP\/1\.1 400 .*a request may have one (host|authorization) header, not several/s)
      }
    },
  )

  it('shows no header of a request that may hold a key', async () => {
    const headers = { 'x-honeycomb-team': 'abcdef', 'api-key': 'abcdef', cookie: 'a=abcdef', 'user-agent': 'mine' }
    await dev.raw('/v1/traces', { method: 'POST', headers, body: '' })
    const { body } = await dev.raw(`${paths.requests}?limit=1`)
    const detail = await dev.raw(`${paths.request}?n=${JSON.parse(body).requests[0].n}`)
    expect(detail.body).toContain('mine')
    expect(detail.body).not.toContain('abcdef')
  })
})

describe('a dev service that others can reach', () => {
  const other = Object.values(networkInterfaces())
    .flatMap(addresses => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address

  it.each([
    ['with --private', ['--private']],
    ['beyond loopback', ['--host', '0.0.0.0']],
  ])('%s asks for a key, which works once', async (_, args) => {
    await using dev = await startDev(args)
    expect((await dev.raw(paths.summary)).status).toBe(401)
    expect((await dev.raw('/dev/events')).status).toBe(401)
    const page = /See your logs at (\S+)/.exec(dev.process.stdout())?.[1] as string
    const path = page.slice(dev.url.length)
    expect((await dev.raw(path.replace(/key=.*/, 'key=wrong'))).status).toBe(401)
    const opened = await dev.raw(path)
    expect([opened.status, opened.headers.location]).toEqual([303, '/dev/events'])
    const [cookie] = opened.headers['set-cookie'] as string[]
    expect(cookie).toMatch(
      new RegExp(`^logferry-dev-${new URL(dev.url).port}=[\\w-]+; Path=/dev; HttpOnly; SameSite=Strict`),
    )
    const session = (cookie as string).split(';', 1)[0] as string
    expect((await dev.raw(paths.summary, { headers: { cookie: session } })).status).toBe(200)
    expect((await dev.raw(path)).status).toBe(401)
    await dev.process.until(/Address for another browser: \S+key=/)
    expect((await dev.raw(paths.summary, { headers: { authorization: `Bearer ${dev.token}` } })).status).toBe(200)
    expect((await dev.raw(paths.summary, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401)
    const options = { method: 'POST', headers: json, body: '{}' }
    expect((await dev.raw('/v1/logs', options)).status).toBe(403)
  })

  it.runIf(other)('shows its token on its own machine only', async () => {
    await using dev = await startDev(['--host', '0.0.0.0'])
    const headers = { ...json, [writeHeader]: '1', authorization: `Bearer ${dev.token}` }
    const url = dev.url.replace('127.0.0.1', other as string)
    const answer = await rawRequest(url, paths.setup, { method: 'POST', headers, body: '{}' })
    expect([answer.status, answer.body.includes(dev.token)]).toEqual([403, false])
  })
})
