/** The options for errors of HTTP clients on the page of Winston, with errors as these clients make them. */
import { expect, it } from 'vitest'
import winston from 'winston'
import { LogferryTransport } from '../../src/winston.ts'
import { startShipping } from '../support/shipping.ts'
import { fencesOf } from './markdown.ts'

const secret = 'hunter2'
const url = `https://mary:${secret}@shop.example/orders?reply=a@b.example`

/** The fields in which each client keeps its request. */
const errors: readonly [string, object][] = [
  ['axios', { config: { baseURL: url, url, auth: { username: 'mary', password: secret }, data: secret } }],
  ['got', { options: { url: new URL(url), password: secret, body: secret, headers: { authorization: secret } } }],
  ['superagent', { response: { req: { method: 'GET', url, data: secret, headers: { cookie: secret } } } }],
]

/** Creates a transport as the block does. */
function documentedTransport(service: { baseUrl: string; token: string; dataset: string }): LogferryTransport {
  const block = fencesOf('docs/winston.md').find(({ source }) => source.includes("'**.config.data'"))
  const lines = (block?.source ?? '').split('\n').filter(line => !line.startsWith('import '))
  const body = lines.join('\n').replace('new LogferryTransport', 'return new LogferryTransport')
  return new Function('LogferryTransport', ...Object.keys(service), body)(LogferryTransport, ...Object.values(service))
}

it.each(errors)('mask the secrets of a request of %s, and leave the rest of its URL', async (_, fields) => {
  await using shipping = await startShipping()
  const { url: baseUrl, token } = shipping.emulator
  const transport = documentedTransport({ baseUrl, token, dataset: 'd' })
  const error = Object.assign(new Error(`no answer from ${url}`), fields)
  winston.createLogger({ transports: [transport] }).error('order not placed', { err: error })
  await transport.shipper.close()
  const [line] = shipping.emulator.lines('d')
  expect(line).not.toContain(secret)
  expect(line?.split('https://mary:[redacted]@shop.example/orders?reply=a@b.example').length).toBeGreaterThan(2)
})
