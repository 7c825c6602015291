import { readFileSync } from 'node:fs'
import https from 'node:https'
import { afterAll, describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { exchangeRaw, jsonOf, post } from './wire.ts'

const emulator = await startEmulator()
afterAll(() => emulator.close())

const { token } = emulator
const ingestHeaders = `Host: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close`

describe('paths', () => {
  it.each([
    ['GET', '/nowhere', 404],
    ['GET', '/v1/datasets', 404],
    ['POST', '/v1/datasets//ingest', 404],
    ['POST', '/v1/datasets/a/b/ingest', 404],
    ['POST', '/v1/datasets/a/ingest/', 404],
    ['POST', '/v1/datasets/../v1/datasets/a/ingest', 404],
    ['POST', '/v1/datasets/%zz/ingest', 400],
    ['POST', '/v1/datasets/%ff/ingest', 400],
    ['GET', '/v2/orgs/%', 400],
  ])('%s %s is a %i', async (method, path, status) => {
    const answer = await exchangeRaw(emulator, socket =>
      socket.write(`${method} ${path} HTTP/1.1\r\n${ingestHeaders}\r\n\r\n[]`),
    )
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(jsonOf(answer)).toEqual({ code: expect.any(String), message: expect.any(String) })
  })

  it.each([
    ['GET', '/v1/datasets/a/ingest', 'POST'],
    ['DELETE', '/v2/orgs/a', 'GET, PUT'],
    ['POST', '/', 'GET'],
  ])('%s %s is a 405 that names the allowed methods', async (method, path, allow) => {
    const response = await fetch(emulator.url + path, { method })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe(allow)
    expect(await response.json()).toMatchObject({ code: 'wrong-method' })
  })

  it.each(['plain', 'a/b', '..', '.', 'a?b#c', '100%', '%2F', 'ünï', ' ', '__proto__', 'a\r\nb', '../../v2/orgs/x'])(
    'the dataset %j is read from its segment of the path',
    async dataset => {
      emulator.clear()
      // Uses a plain socket, because fetch resolves ".." by itself.
      const segment = encodeURIComponent(dataset)
      const answer = await exchangeRaw(emulator, socket =>
        socket.write(`POST /v1/datasets/${segment}/ingest?x=1 HTTP/1.1\r\n${ingestHeaders}\r\n\r\n{}`),
      )
      expect(answer).toMatch(/^HTTP\/1.1 200 /)
      expect(emulator.requests().at(-1)?.dataset).toBe(dataset)
      expect(emulator.events(dataset)).toEqual([{}])
    },
  )

  it('accepts the absolute address that a proxy sends', async () => {
    const answer = await exchangeRaw(emulator, socket =>
      socket.write(`POST http://api.example/v1/datasets/proxied/ingest HTTP/1.1\r\n${ingestHeaders}\r\n\r\n{}`),
    )
    expect(answer).toMatch(/^HTTP\/1.1 200 /)
  })

  it('answers under the base path only', async () => {
    await using edge = await startEmulator({ basePath: '/edge/eu/' })
    expect(edge.url).toBe(`http://127.0.0.1:${edge.port}/edge/eu`)
    expect((await post(edge)).status).toBe(200)
    expect((await fetch(edge.url)).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${edge.port}/`)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${edge.port}/edge/europe/`)).status).toBe(404)
  })
})

describe('a request that the HTTP parser refuses gets a JSON object, too', () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n', 400],
    ['a bad header', 'GET / HTTP/1.1\r\nHost: localhost\r\nBad Header\r\n\r\n', 400],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
    ['headers that are too long', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 405],
    ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: cake\r\n\r\n', 417],
  ])('%s', async (_, text, status) => {
    const answer = await exchangeRaw(emulator, socket => socket.write(text))
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer.toLowerCase()).toContain('content-type: application/json')
    expect(jsonOf(answer)).toEqual({ code: expect.any(String), message: expect.any(String) })
  })

  it('cuts off headers that never end', async () => {
    let timer: NodeJS.Timeout | undefined
    const answer = await exchangeRaw(emulator, socket => {
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n')
      timer = setInterval(() => socket.writable && socket.write(`X-${'a'.repeat(3000)}: 1\r\n`), 1)
    })
    clearInterval(timer)
    expect(answer).toMatch(/^HTTP\/1.1 431 /)
    expect(jsonOf(answer)).toMatchObject({ code: 'headers-too-large' })
    expect((await post(emulator)).status).toBe(200)
  })
})

it('survives a client that disconnects in the middle of its body', async () => {
  await exchangeRaw(emulator, socket => {
    socket.write(
      `POST /v1/datasets/gone/ingest HTTP/1.1\r\n${ingestHeaders.replace('Length: 2', 'Length: 99')}\r\n\r\n[{`,
    )
    socket.end()
  })
  expect(emulator.requests().at(-1)).toMatchObject({ dataset: 'gone', status: undefined, wireBytes: 2 })
  expect((await post(emulator)).status).toBe(200)
})

describe('over TLS', () => {
  const file = (name: string) => readFileSync(new URL(`tls/${name}`, import.meta.url))
  const tls = { key: file('key.pem'), cert: file('cert.pem') }

  function send(url: string, ingestToken: string): Promise<number | string | undefined> {
    return new Promise(resolve => {
      const request = https.request(`${url}/v1/datasets/a/ingest`, {
        method: 'POST',
        ca: tls.cert,
        headers: { authorization: `Bearer ${ingestToken}`, 'content-type': 'application/json' },
      })
      request.on('response', response => resolve(response.resume().statusCode))
      request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      request.end('[{}]')
    })
  }

  it('stores events and resets connections as without TLS', async () => {
    await using secure = await startEmulator({ tls })
    expect(secure.url).toBe(`https://127.0.0.1:${secure.port}`)
    expect(await send(secure.url, secure.token)).toBe(200)
    secure.faults.resetNext(1, 'after-storing')
    expect(await send(secure.url, secure.token)).toBe('ECONNRESET')
    expect(secure.eventCount('a')).toBe(2)
  })
})

describe('the host option', () => {
  it.each([
    ['localhost', 'localhost'],
    ['0.0.0.0', '127.0.0.1'],
  ])('%s is reached at %s', async (host, name) => {
    await using own = await startEmulator({ host })
    expect(own.url).toBe(`http://${name}:${own.port}`)
    expect((await post(own)).status).toBe(200)
  })
})

describe('close()', () => {
  it('ends at once, whatever requests are in flight, and may be called again', async () => {
    const own = await startEmulator()
    own.faults.latencyMs = 60_000
    const held = post(own).catch(error => error)
    const idle = exchangeRaw(own, () => {})
    await own.waitForEvents('checkout', 1)
    const start = performance.now()
    await Promise.all([own.close(), own.close()])
    await own.close()
    expect(performance.now() - start).toBeLessThan(1000)
    expect(await held).toBeInstanceOf(TypeError)
    expect(await idle).toBe('')
    await expect(fetch(own.url)).rejects.toThrow()
  })

  it('frees the port', async () => {
    const own = await startEmulator()
    await own.close()
    await using next = await startEmulator({ port: own.port })
    expect(next.port).toBe(own.port)
  })
})
