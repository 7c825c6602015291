import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { Agent } from 'undici'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { createOrgClient, type OrgClientOptions, OrgError } from '../../src/org.ts'
import { startRawServer } from '../support/raw-server.ts'
import { orgWith, specifiedOrg, startAnswering, startService } from './service.ts'

const token = 'xAPT-secret-0123456789'

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0) // no wait between attempts
})

async function failure(baseUrl: string, options: OrgClientOptions = {}): Promise<OrgError> {
  await using client = createOrgClient({ baseUrl, token, ...options })
  const error = await client.get('acme').then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(OrgError)
  expect(inspect(error, { depth: 20, showHidden: true }).toLowerCase()).not.toContain(token.toLowerCase())
  return error as OrgError
}

describe('the code of an error', () => {
  it.each([
    [400, 'INVALID_REQUEST', /refuses the request \(status 400: because\)/],
    [422, 'INVALID_REQUEST', /refuses the request/],
    [402, 'INVALID_REQUEST', /status 402/],
    [401, 'UNAUTHORIZED', /refuses the token; check that it is valid .*\(status 401: because\)/],
    [403, 'UNAUTHORIZED', /refuses the token/],
    [404, 'NOT_FOUND', /check its id and baseUrl/],
    [408, 'UNAVAILABLE', /status 408/],
    [425, 'UNAVAILABLE', /status 425/],
    [429, 'RATE_LIMITED', /try again later/],
    [430, 'RATE_LIMITED', /try again later/],
    [500, 'UNAVAILABLE', /is unavailable/],
    [503, 'UNAVAILABLE', /is unavailable/],
  ])('%i is %s', async (status, code, message) => {
    await using service = await startAnswering(status, { message: 'because' })
    const error = await failure(service.url)
    expect(error).toMatchObject({ name: 'OrgError', code, status, message: expect.stringMatching(message) })
    expect(error.message).toMatch(/^logferry: /)
  })

  it.each([301, 302, 303, 307, 308])('%i is REDIRECTED, and the redirect is not followed', async status => {
    await using elsewhere = await startAnswering(200, specifiedOrg)
    await using service = await startAnswering(status, '', { location: `${elsewhere.url}/x?token=1` })
    const error = await failure(service.url)
    expect(error).toMatchObject({ code: 'REDIRECTED', status })
    expect(error.message).toContain(`(status ${status}: redirects to ${elsewhere.url})`)
    expect(elsewhere.requests).toEqual([])
  })

  it('fits answers of the emulator: an unknown token, an unknown organization', async () => {
    await using emulator = await startEmulator()
    expect(await failure(emulator.url)).toMatchObject({ code: 'UNAUTHORIZED', status: 403 })
    const personal = { personalAccessToken: emulator.personalAccessToken, orgId: 'other', token: undefined }
    expect(await failure(emulator.url, personal)).toMatchObject({ code: 'UNAUTHORIZED', status: 403 })
    expect(await failure(emulator.url, { token: emulator.accessToken })).toMatchObject({
      code: 'NOT_FOUND',
      status: 404,
    })
  })

  it('is UNREACHABLE if the port is closed, with the cause', async () => {
    const closed = await startRawServer(() => {})
    await closed.close()
    const error = await failure(closed.url)
    expect(error).toMatchObject({ code: 'UNREACHABLE', cause: { code: 'ECONNREFUSED' } })
    expect(error.message).toContain('ECONNREFUSED')
    expect(error).not.toHaveProperty('status')
  })

  it('is UNREACHABLE if the connection breaks before or within the answer, three times', async () => {
    const starts = ['', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"id":']
    for (const start of starts) {
      const server = await startRawServer(socket => socket.end(start))
      expect(await failure(server.url)).toMatchObject({ code: 'UNREACHABLE' })
      expect(server.sockets).toHaveLength(3)
      await server.close()
    }
  })

  it('is UNREACHABLE if the dispatcher is closed', async () => {
    const dispatcher = new Agent()
    await dispatcher.close()
    expect(await failure('http://127.0.0.1:1', { dispatcher })).toMatchObject({ code: 'UNREACHABLE' })
  })

  it('is TIMEOUT if no answer, half a head or half a body arrives in time', async () => {
    const starts = ['', 'HTTP/1.1 200 OK\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"id":']
    await Promise.all(
      starts.map(async start => {
        const server = await startRawServer(socket => socket.write(start))
        const error = await failure(server.url, { timeoutMs: 100 })
        expect(error).toMatchObject({ code: 'TIMEOUT' })
        expect(error.message).toContain('timeoutMs (100) ran out while waiting for the service')
        expect(server.sockets).toHaveLength(1)
        await server.close()
      }),
    )
  })

  it('follows the status if the body of an error never ends', async () => {
    await using service = await startService(response => response.writeHead(403).write('{'))
    expect(await failure(service.url, { timeoutMs: 100 })).toMatchObject({ code: 'UNAUTHORIZED', status: 403 })
  })
})

describe('hostile answers are INVALID_RESPONSE', () => {
  const text = JSON.stringify(specifiedOrg)
  it.each([
    ['empty', '', 'expected a JSON object, got an empty answer'],
    ['HTML', '<!doctype html><p>Log in', 'got an HTML page, perhaps of a proxy'],
    ['text', 'OK', 'got text that is not JSON'],
    ['truncated', text.slice(0, -1), 'got text that is not JSON'],
    ['a list', '[]', 'got an array'],
    ['null', 'null', 'got null'],
    ['a string', '"x"', 'got a string of 1 character (not shown)'],
    ['deep', '['.repeat(1_000_000), 'got text that is not JSON'],
    ['of more than 1 MiB', JSON.stringify(orgWith({ more: 'x'.repeat(2 ** 20) })), 'it is longer than 1 MiB'],
  ])('%s', async (_, body, problem) => {
    await using service = await startAnswering(200, body)
    const error = await failure(service.url)
    expect(error).toMatchObject({ code: 'INVALID_RESPONSE', status: 200 })
    expect(error.message).toContain(problem)
    expect(service.requests).toHaveLength(1)
  })

  it('204', async () => {
    await using service = await startAnswering(204, '')
    expect(await failure(service.url)).toMatchObject({ code: 'INVALID_RESPONSE', status: 204 })
  })

  it('1 GB, of which only a little is read', async () => {
    const chunk = Buffer.alloc(65_536, ' ')
    let sent = 0
    const closed = Promise.withResolvers<void>()
    await using service = await startService(response => {
      response.writeHead(200, { 'content-length': 2 ** 30 })
      response.once('close', closed.resolve)
      const pump = (): void => {
        while (sent < 2 ** 30 && !response.destroyed) {
          sent += chunk.length
          if (!response.write(chunk)) return void response.once('drain', pump)
        }
      }
      pump()
    })
    expect(await failure(service.url)).toMatchObject({ code: 'INVALID_RESPONSE' })
    await closed.promise
    expect(sent).toBeLessThan(16 * 2 ** 20)
  })

  it('headers without end', async () => {
    const server = await startRawServer(socket => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const pump = (): void => {
        while (!socket.destroyed && socket.write(`x-${'y'.repeat(1000)}: z\r\n`));
      }
      socket.on('drain', pump)
      pump()
    })
    expect(await failure(server.url)).toMatchObject({ code: 'INVALID_RESPONSE' })
    await server.close()
  })

  it.each([`I am no HTTP server, ${token}\r\n\r\n`, `HTTP/1.1 200 OK\r\ncontent-length: ${token}\r\n\r\n`])(
    'not HTTP: %j',
    async answer => {
      const server = await startRawServer(socket => socket.end(answer))
      const error = await failure(server.url)
      expect(error).toMatchObject({ code: 'INVALID_RESPONSE', cause: { code: expect.stringMatching(/^HPE_/) } })
      await server.close()
    },
  )

  it('the content type does not matter', async () => {
    await using service = await startAnswering(200, text, { 'content-type': 'text/html' })
    await using client = createOrgClient({ baseUrl: service.url, token })
    expect(await client.get('acme')).toStrictEqual(specifiedOrg)
  })
})

describe('a token that the service repeats is not in the error', () => {
  const escaped = `"\\u${token.charCodeAt(0).toString(16).padStart(4, '0')}${token.slice(1)}"`
  it.each([
    ['as the reason', 403, JSON.stringify({ message: `${token} is unknown` })],
    ['in a page', 500, `<h1>${token}</h1>`],
    ['where the reason is cut short', 403, JSON.stringify({ message: `${'x '.repeat(95)}${token}` })],
    ['where the page is cut short', 403, `<p>${' '.repeat(3980)}${token}`],
    ['escaped', 403, `{"message":${escaped}}`],
    ['as a field', 200, JSON.stringify(orgWith({ license: { maxFields: token } }))],
    ['as an escaped field', 200, `{"id":[],"license":${escaped}}`],
    ['as a long field', 200, JSON.stringify(orgWith({ license: `${'x'.repeat(70)}${token}` }))],
    ['as the name of a field', 200, JSON.stringify({ [token]: 1 })],
    ['as no JSON', 200, `{ ${token}`],
  ])('%s', async (_, status, body) => {
    await using service = await startAnswering(status, body)
    expect((await failure(service.url)).message).not.toContain(token.slice(0, 8))
  })

  it.each([
    [`http://${token}.example/`, 'redirects to another address'],
    [`//${token}.example/`, 'redirects to another address'],
    [`/${token}`, 'redirects to another path of the same host'],
  ])('as the target of a redirect: %s', async (location, reason) => {
    await using service = await startAnswering(302, '', { location })
    expect((await failure(service.url)).message).toContain(reason)
  })

  it('as an error of the dispatcher', async () => {
    const cause = Object.assign(new Error(`401 for ${token}`), { request: { headers: { authorization: token } } })
    const dispatch = () => {
      throw Object.assign(new Error(`cannot send ${token}`, { cause }), { code: 'E_PROXY' })
    }
    const error = await failure('http://127.0.0.1:1', { dispatcher: { dispatch } as never })
    expect(error.cause).toMatchObject({ code: 'E_PROXY', message: 'cannot send [token]' })
    expect((error.cause as Error).cause).toMatchObject({ message: '401 for [token]' })
  })
})

describe('temporary failures', () => {
  it('are retried up to three times, and the first success counts', async () => {
    await using service = await startService((response, _, nth) => {
      if (nth === 1) response.socket?.destroy()
      else if (nth === 2) response.writeHead(503).end()
      else response.end(JSON.stringify(specifiedOrg))
    })
    await using client = createOrgClient({ baseUrl: service.url, token })
    expect(await client.update('acme', { name: 'x' })).toStrictEqual(specifiedOrg)
    expect(service.requests).toHaveLength(3)
  })

  it('are not retried more often', async () => {
    await using service = await startAnswering(503, '')
    expect(await failure(service.url)).toMatchObject({ code: 'UNAVAILABLE' })
    expect(service.requests).toHaveLength(3)
  })

  it.each([400, 401, 403, 404, 302])('do not include status %i', async status => {
    await using service = await startAnswering(status, '')
    await failure(service.url)
    expect(service.requests).toHaveLength(1)
  })

  it('are retried as soon as Retry-After allows', async () => {
    await using service = await startService((response, _, nth) => {
      if (nth === 1) response.writeHead(429, { 'retry-after': '0.05' }).end()
      else response.end(JSON.stringify(specifiedOrg))
    })
    await using client = createOrgClient({ baseUrl: service.url, token })
    const startedAtMs = performance.now()
    await client.get('acme')
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(49)
  })

  it('are not retried if Retry-After exceeds timeoutMs: the error has the delay', async () => {
    await using service = await startAnswering(429, '', { 'retry-after': '120' })
    expect(await failure(service.url)).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 120_000 })
    expect(service.requests).toHaveLength(1)
  })
})

it('a connection that the service closed while idle causes no error', async () => {
  await using service = await startService((response, _, nth) => {
    if (nth === 2) response.socket?.destroy()
    else response.end(JSON.stringify(specifiedOrg), () => nth === 1 && response.socket?.end())
  })
  await using client = createOrgClient({ baseUrl: service.url, token })
  for (let nth = 0; nth < 3; nth += 1) await client.get('acme')
})

it('a certificate of an unknown authority is refused', async () => {
  const file = (name: string) => readFileSync(new URL(`../emulator/tls/${name}`, import.meta.url), 'utf8')
  await using emulator = await startEmulator({ tls: { key: file('key.pem'), cert: file('cert.pem') } })
  expect(await failure(emulator.url)).toMatchObject({
    code: 'UNREACHABLE',
    cause: { code: expect.stringMatching(/CERT/) },
  })
  expect(emulator.requests()).toEqual([])
})
