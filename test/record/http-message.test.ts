import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import { LogferryTransport } from '../../src/winston.ts'
import { startShipping } from '../support/shipping.ts'

const secrets = {
  authorization: 'Bearer hunter1',
  cookie: 'sid=hunter2',
  'x-api-key': 'hunter3',
  'x-amz-security-token': 'hunter4',
}
const told = { method: 'GET', url: '/orders?page=2', remoteAddress: '127.0.0.1', remotePort: expect.any(Number) }

async function startLogging(format = winston.format.json()) {
  const shipping = await startShipping()
  const logger = winston.createLogger({ format, transports: [new LogferryTransport({ shipper: shipping.ship() })] })
  return Object.assign(shipping, { logger, ended: () => once(logger.end(), 'finish') })
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** Answers one request, which `handle` gets. Returns the response that the client got. */
async function serveOne(handle: Handler, headers: object = secrets): Promise<IncomingMessage> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sent = request({ port, host: '127.0.0.1', path: '/orders?page=2', headers: { 'user-agent': 'me', ...headers } })
  const [response] = (await once(sent.end(), 'response')) as [IncomingMessage]
  await once(response.resume(), 'end')
  server.close()
  return response
}

describe('an HTTP request or response as metadata', () => {
  it('is shipped as by the standard serializers of pino, in a few hundred bytes, without secrets', async () => {
    await using logging = await startLogging()
    const answer: Handler = (req, res) => {
      logging.logger.info('before', { req, res })
      res.setHeader('content-type', 'text/plain').setHeader('set-cookie', 'sid=hunter5').end('hello')
      logging.logger.info('after', { res, err: Object.assign(new Error('e'), { request: req }) })
    }
    const res = await serveOne(answer)
    logging.logger.info('client', { res })
    await logging.ended()
    const req = { ...told, headers: { host: expect.stringContaining('127.0.0.1'), 'user-agent': 'me' } }
    expect(logging.emulator.events('d')).toMatchObject([
      { message: 'before', level: 'info', req, res: { statusCode: null } },
      {
        message: 'after',
        res: { statusCode: 200, headers: { 'content-type': 'text/plain' } },
        err: { message: 'e', request: req },
      },
      { message: 'client', res: { statusCode: 200, headers: { 'content-type': 'text/plain' } } },
    ])
    const lines = logging.emulator.lines('d')
    expect(lines.join()).not.toContain('hunter')
    expect(lines[0]?.length).toBeLessThan(400)
  })

  it('does not ship the fields that Winston merges from an object after the message', async () => {
    await using logging = await startLogging()
    await serveOne((req, res) => {
      logging.logger.info('seen', req)
      res.end()
    })
    await logging.ended()
    expect(logging.emulator.events('d')).toEqual([
      { _time: expect.any(String), level: 'info', message: 'seen', splat: [expect.objectContaining(told)] },
    ])
  })

  it('loses the query of a long URL as a whole, because a part of a secret would not be recognized', async () => {
    await using logging = await startLogging()
    await serveOne((req, res) => {
      const originalUrl = `/login?token=${'s3cr3t.'.repeat(400)}`
      logging.logger.info('seen', { req: Object.assign(req, { originalUrl }) })
      res.end()
    })
    await logging.ended()
    expect(logging.emulator.events('d')).toMatchObject([{ req: { url: '/login?…' } }])
  })

  it('is bounded in size, whatever the client sends', async () => {
    await using logging = await startLogging()
    const wide = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-n-${n}`, 'v']))
    await serveOne(
      (req, res) => {
        logging.logger.info('seen', { req: Object.assign(req, { originalUrl: `/${'x'.repeat(100_000)}` }) })
        res.end()
      },
      { ...wide, 'user-agent': 'u'.repeat(3000) },
    )
    await logging.ended()
    const [event] = logging.emulator.events('d') as { req: { url: string; headers: Record<string, string> } }[]
    expect(event?.req.url.length).toBeLessThanOrEqual(2048)
    expect(event?.req.headers['user-agent']?.length).toBeLessThanOrEqual(300)
    expect(Object.keys(event?.req.headers ?? {}).sort()).toEqual(['host', 'user-agent'])
  })

  it('is shipped with the fields of a client request', async () => {
    await using logging = await startLogging()
    const sent = request({ port: 9, host: '127.0.0.1', path: '/x', headers: { ...secrets, 'content-type': 'a/b' } })
    sent.on('error', () => {})
    logging.logger.info('sent', { req: sent })
    await logging.ended()
    expect(logging.emulator.events('d')).toMatchObject([
      { req: { method: 'GET', url: 'http://127.0.0.1/x', headers: { 'content-type': 'a/b' } } },
    ])
    expect(logging.emulator.lines('d').join()).not.toContain('hunter')
  })

  it('may be made by follow-redirects, as in an error of axios that got no answer', async () => {
    class RedirectableRequest extends Writable {
      readonly _redirectCount = 0
      readonly _options = { headers: secrets }
      readonly _currentRequest = request({ port: 9, host: '127.0.0.1', path: '/x', headers: secrets })
    }
    await using logging = await startLogging()
    const sent = new RedirectableRequest()
    sent._currentRequest.on('error', () => {})
    logging.logger.error('call failed', Object.assign(new Error('refused'), { request: sent }))
    await logging.ended()
    const [event] = logging.emulator.events('d')
    expect(event).toMatchObject({
      message: 'call failed refused',
      request: { method: 'GET', url: 'http://127.0.0.1/x' },
    })
    expect(JSON.stringify(event)).not.toContain('hunter')
  })

  it.each([undefined, 'meta'])('may be the argument that format.metadata() has moved, with the key %s', async key => {
    const format = winston.format.metadata({ ...(key !== undefined && { key }) })
    await using logging = await startLogging(format)
    const sent = request({ port: 9, host: '127.0.0.1', path: '/x', headers: secrets })
    sent.on('error', () => {})
    logging.logger.info('sent', sent)
    await logging.ended()
    const [event] = logging.emulator.events('d')
    expect(event).toMatchObject({ message: 'sent', [key ?? 'metadata']: {}, splat: [{ method: 'GET' }] })
    expect(JSON.stringify(event)).not.toContain('hunter')
  })

  it('may be one that follow-redirects could not make', async () => {
    class RedirectableRequest {
      readonly _redirectCount = 0
      readonly _options = { method: 'GET', path: '/x', headers: secrets }
    }
    await using logging = await startLogging()
    logging.logger.error('call failed', { request: new RedirectableRequest() })
    await logging.ended()
    const [event] = logging.emulator.events('d')
    expect(event).toMatchObject({ message: 'call failed', request: { method: 'GET', url: '/x' } })
    expect(JSON.stringify(event)).not.toContain('hunter')
  })

  it('may come from Fastify, wrapped, raw or injected', async () => {
    await using logging = await startLogging()
    const app = Fastify()
    app.get('/orders', async (req, reply) => {
      logging.logger.info('raw', { req: req.raw, res: reply.raw })
      logging.logger.info('wrapped', { req, res: reply })
      return 'ok'
    })
    await app.inject({ url: '/orders?page=2', headers: secrets })
    await app.close()
    await logging.ended()
    const { remotePort: _, ...req } = told
    expect(logging.emulator.events('d')).toMatchObject([
      { message: 'raw', req },
      { message: 'wrapped', req: { id: 'req-1', ...req } },
    ])
    expect(logging.emulator.lines('d').join()).not.toContain('hunter')
  })

  it('may come from http2', async () => {
    await using logging = await startLogging()
    const server = createHttp2Server((req, res) => {
      logging.logger.info('seen', { req, res })
      res.end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const stream = session.request({ ':path': '/orders?page=2', ...secrets })
    await once(stream.resume(), 'end')
    session.close()
    server.close()
    await logging.ended()
    expect(logging.emulator.events('d')).toMatchObject([{ req: told, res: { statusCode: null } }])
    expect(logging.emulator.lines('d').join()).not.toContain('hunter')
  })
})
