import { once } from 'node:events'
import { Request as UndiciRequest, Response as UndiciResponse } from 'undici'
import { describe, expect, it } from 'vitest'
import winston from 'winston'
import type { ShipperOptions } from '../../src/index.ts'
import { LogferryTransport } from '../../src/winston.ts'
import { runScript } from '../support/run-script.ts'
import { startShipping } from '../support/shipping.ts'

const url = 'https://shop.example/orders?page=2'
const secrets = {
  authorization: 'Bearer hunter1',
  cookie: 'sid=hunter2',
  'x-api-key': 'hunter3',
  'x-amz-security-token': 'hunter4',
}
const headers = { 'content-type': 'text/plain', 'user-agent': 'me', 'x-request-id': '7', ...secrets }
const told = {
  method: 'POST',
  url,
  headers: { 'content-type': 'text/plain', 'user-agent': 'me', 'x-request-id': '7' },
}
const answered = { statusCode: 201, headers: { 'content-type': 'text/plain' } }

const requestOf = (RequestClass: typeof Request = Request) =>
  new RequestClass(url, { method: 'POST', headers, body: 'hunter5' })
const answer = () => new Response('hunter6', { status: 201, headers: { ...headers, 'set-cookie': 'hunter7' } })

/** Ships an event. Returns the event as it arrived, and its line. */
async function ship(event: object, options?: ShipperOptions) {
  await using shipping = await startShipping()
  const shipper = shipping.ship(options)
  shipper.ship(event)
  await shipper.flush()
  const [line = ''] = shipping.emulator.lines('d')
  return { line, event: JSON.parse(line) as Record<string, never> }
}

class Posing {}

/** An object with this tag and these members, which are not enumerable. */
function posingAs(tag: string, members: object): object {
  const object = Object.create(Posing.prototype, { [Symbol.toStringTag]: { value: tag } })
  for (const name of Reflect.ownKeys(members)) {
    const member = Object.getOwnPropertyDescriptor(members, name)
    Object.defineProperty(object, name, { ...member, enumerable: false })
  }
  return object
}

describe('a request or response of fetch', () => {
  it('is shipped with the fields of those of node:http, in a few hundred bytes, without secrets', async () => {
    const error = Object.assign(new Error('e'), { request: requestOf(), response: answer() })
    const { event, line } = await ship({ req: requestOf(), res: answer(), err: error })
    expect(event).toEqual({
      _time: expect.any(String),
      req: told,
      res: answered,
      err: expect.objectContaining({ request: told, response: answered }),
    })
    expect(line).not.toContain('hunter')
    expect(JSON.stringify(event.req).length).toBeLessThan(400)
  })

  it('may come from undici, from a framework that derives or imitates its class, or through a proxy', async () => {
    class Derived extends Request {
      readonly page = 2
    }
    const imitated = Object.setPrototypeOf(
      { method: 'POST', url, headers: new Headers(headers) },
      Object.create(Request.prototype),
    ) // as @hono/node-server does
    const { event, line } = await ship({
      list: [
        requestOf(UndiciRequest as never),
        requestOf(Derived),
        imitated,
        new Proxy(requestOf(), { get: (target, name) => Reflect.get(target, name, target) }), // as Next.js does
        new (class {
          readonly raw = requestOf()
          readonly bodyCache = {}
          header(): void {}
        })(), // as Hono does
      ],
      res: new UndiciResponse('hunter6', { status: 201, headers }),
    })
    expect(event.list).toEqual([told, told, told, told, told])
    expect(event.res).toEqual(answered)
    expect(line).not.toContain('hunter')
  })

  it('after the message of Winston is in splat', async () => {
    await using shipping = await startShipping()
    const logger = winston.createLogger({ transports: [new LogferryTransport({ shipper: shipping.ship() })] })
    logger.info('seen', requestOf())
    logger.info('merged', { req: requestOf(), res: answer() })
    logger.info('headers', new Headers({ 'x-page': '2' }))
    await once(logger.end(), 'finish')
    expect(shipping.emulator.events('d')).toEqual([
      { _time: expect.any(String), level: 'info', message: 'seen', splat: [told] },
      { _time: expect.any(String), level: 'info', message: 'merged', req: told, res: answered },
      { _time: expect.any(String), level: 'info', message: 'headers', splat: [{ 'x-page': '2' }] },
    ])
  })

  it('is redacted by the names of its fields', async () => {
    const { event } = await ship({ req: requestOf(), res: answer() }, { redact: ['url', 'user-agent'] })
    expect(event.req).toEqual({
      method: 'POST',
      url: '[redacted]',
      headers: { ...told.headers, 'user-agent': '[redacted]' },
    })
  })

  it('is bounded in size, and loses the query of a long URL as a whole', async () => {
    const long = { 'user-agent': 'u'.repeat(3000) }
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`x-n-${n}`, 'v']))
    const req = new Request(`${url}&token=${'s3cr3t.'.repeat(400)}`, { headers: { ...wide, ...long } })
    const { event } = await ship({ req })
    expect(event.req).toEqual({
      method: 'GET',
      url: 'https://shop.example/orders?…',
      headers: { 'user-agent': expect.stringMatching(/^u{200,300}\.\.\. \[\d+ more characters\]$/) },
    })
  })

  it('loses user and password in its URL', async () => {
    const headers = new Headers()
    const req = posingAs('Request', {
      bodyUsed: false,
      method: 'GET',
      url: 'http://me:hunter2@shop.example/a@b',
      headers,
    })
    expect((await ship({ req })).event.req).toEqual({ method: 'GET', url: 'http://shop.example/a@b' })
  })

  it('that throws costs the fields that throw', async () => {
    const fail = (): never => {
      throw new Error('no')
    }
    const members = {
      bodyUsed: false,
      method: 'GET',
      get url() {
        return fail()
      },
      headers: { get: fail },
    }
    const thrown = '[Throws: no]'
    const proxy = new Proxy(requestOf(), { get: fail })
    const { event } = await ship({
      req: posingAs('Request', members),
      proxy,
      none: posingAs('Response', { bodyUsed: 1 }),
    })
    expect(event).toEqual({
      _time: expect.any(String),
      req: { method: 'GET', url: thrown, headers: thrown },
      proxy: thrown,
      none: { headers: expect.stringContaining('[Throws: ') },
    })
  })

  it('is not seen in an object of the application with the same tag, or with a toJSON', async () => {
    const order = Object.assign(posingAs('Request', {}), { id: 42 })
    const own = Object.assign(requestOf(), { toJSON: () => 'mine' })
    const wrapper = new (class {
      readonly raw = answer()
      readonly attempts = 2
    })()
    const { event } = await ship({ order, own, wrapper })
    expect(event).toEqual({
      _time: expect.any(String),
      order: { id: 42 },
      own: 'mine',
      wrapper: { raw: answered, attempts: 2 },
    })
  })
})

describe('Headers of fetch', () => {
  it('are shipped as their names and values, without credentials', async () => {
    const all = new Headers({ ...headers, 'proxy-authorization': 'hunter8' })
    for (const value of ['hunter9', 'hunter10']) all.append('set-cookie', value)
    all.append('__proto__', 'p')
    const { line } = await ship({ headers: all })
    expect(line).toContain(
      '"headers":{"__proto__":"p","authorization":"[redacted]","content-type":"text/plain","cookie":"[redacted]",' +
        '"proxy-authorization":"[redacted]","set-cookie":"[redacted]","user-agent":"me",' +
        '"x-amz-security-token":"hunter4","x-api-key":"hunter3","x-request-id":"7"}',
    )
  })

  it('are redacted by their names', async () => {
    const { event } = await ship({ headers: new Headers(headers) }, { redact: ['authorization', 'x-*'] })
    const redacted = '[redacted]'
    expect(event.headers).toMatchObject({
      authorization: redacted,
      'x-api-key': redacted,
      'x-amz-security-token': redacted,
      'user-agent': 'me',
    })
    const removed = await ship(
      { headers: new Headers(headers) },
      { redact: { paths: ['authorization'], censor: 'remove' } },
    )
    expect(removed.event.headers).not.toHaveProperty('authorization')
  })

  it('are bounded in number and size, and the event is marked as cut', async () => {
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`x-n-${n}`, 'v'.repeat(1000)]))
    const { event, line } = await ship({ headers: new Headers(wide) })
    expect(Object.keys(event.headers ?? {})).toHaveLength(101)
    expect(event.headers).toMatchObject({ '…': 'of more than 100 fields' })
    expect(event.logferry).toEqual({ cut: true })
    expect(line.length).toBeLessThan(40_000)
  })

  it('that are imitated may take long or never end: the log call ends soon', async () => {
    await using shipping = await startShipping()
    const shipper = shipping.ship()
    function* slowly() {
      for (;;) {
        const startedAt = performance.now()
        while (performance.now() - startedAt < 15);
        yield ['a', 'b']
      }
    }
    const headers = posingAs('Headers', { forEach() {}, [Symbol.iterator]: slowly })
    const startedAt = performance.now()
    shipper.ship({ headers, list: Array.from({ length: 50 }, () => headers) })
    expect(performance.now() - startedAt).toBeLessThan(500)
    await shipper.flush()
    expect(shipping.emulator.events('d')).toMatchObject([{ logferry: { cut: true } }])
  })
})

it('the classes of fetch are neither needed nor loaded by a log call', async () => {
  const { stdout, stderr } = await runScript(`
    for (const name of ['Request', 'Response', 'Headers', 'fetch']) {
      Object.defineProperty(globalThis, name, { get() { console.log('touched', name) } })
    }
    const { createShipper } = await import('logferry')
    const shipper = createShipper({ baseUrl: 'http://127.0.0.1:9', token: 't', dataset: 'd', exitTimeoutMs: 0 })
    shipper.ship({ order: new (class Order { id = 42 })(), map: new Map([[{}, new Error('e')]]) })
    console.log(shipper.stats().accepted)
  `)
  expect([stdout, stderr]).toEqual(['1\n', expect.not.stringContaining('Error')])
})
