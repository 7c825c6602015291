/**
 * A Fastify app: one event for each request, and handlers whose events name the request they belong to.
 *
 *     npx node examples/web-app.ts
 */
import { once } from 'node:events'
import { fastify } from 'fastify'
import { startEmulator } from 'logferry/emulator'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// The service, in this process. With an account of your own: leave it out, and set LOGFERRY_URL and LOGFERRY_TOKEN.
const emulator = await startEmulator()

const logger = winston.createLogger({
  transports: [new LogferryTransport({ baseUrl: emulator.url, token: emulator.token, dataset: 'web' })],
})
const app = fastify()

app.addHook('onResponse', async (request, { statusCode, elapsedTime }) => {
  const level = statusCode >= 500 ? 'error' : 'info'
  logger.log(level, `${request.method} ${request.url}`, {
    request: { id: request.id },
    // The route, not only the URL: it groups the requests for all orders.
    http: { method: request.method, route: request.routeOptions.url, status: statusCode },
    durationMs: Math.round(elapsedTime),
  })
})

app.addHook('onError', async (request, _reply, error) => {
  logger.error('handler failed', { request: { id: request.id }, error })
})

app.get<{ Params: { id: string } }>('/orders/:id', async request => {
  const { id } = request.params
  logger.info('order looked up', { request: { id: request.id }, order: { id } })
  if (id === '13') throw new Error('the database is away')
  return { id, total: 99.5 }
})

const address = await app.listen({ port: 0, host: '127.0.0.1' })
for (const path of ['/orders/42', '/orders/13', '/nowhere']) await fetch(address + path)

await app.close()
logger.end()
await once(logger, 'finish')

console.log(`${emulator.eventCount('web')} events arrived; those of the requests:`)
for (const event of emulator.events('web')) if (event.http) console.log(`  ${JSON.stringify(event)}`)
await emulator.close()
