/**
 * A Fastify app whose own logger is the Winston logger. So `request.log` and the events of Fastify itself (requests,
 * answers, errors) are shipped, each with the trace id of its request. Debug events are shipped only for requests that
 * fail.
 *
 *     npx logferry dev -- npm run fastify
 *     curl http://127.0.0.1:3000/orders/42    # ships two events of Fastify
 *     curl http://127.0.0.1:3000/orders/13    # fails, and ships its debug event as well
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type FastifyBaseLogger, fastify, LogController } from 'fastify'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

// Fastify logs as pino does: the fields first, then the text. The transport knows that order, Winston's formats do not.
const text = winston.format.printf(({ level, message, [Symbol.for('splat')]: rest }) => {
  return `${level}: ${typeof message === 'string' ? message : (rest as unknown[])[0]}`
})

const logger = winston.createLogger({
  // The levels of pino, because Fastify logs with them.
  levels: { fatal: 0, error: 1, warn: 2, info: 3, debug: 4, trace: 5 },
  level: 'debug',
  transports: [
    new winston.transports.Console({ level: 'info', format: text }),
    new LogferryTransport({ dataset: 'fastify', hold: { below: 'info', trigger: 'error' } }),
  ],
})

const app = fastify({
  loggerInstance: logger as unknown as FastifyBaseLogger,
  genReqId: () => randomUUID(),
  logController: new LogController({ requestIdLogLabel: 'trace_id' }),
})

app.addHook('onResponse', async () => {
  // A connection kept alive would hold up the end of the server.
  if (!app.server.listening) app.server.closeIdleConnections()
})

app.get<{ Params: { id: string } }>('/orders/:id', async request => {
  const { id } = request.params
  request.log.debug({ order: { id } }, 'order is not in the cache')
  await sleep(100)
  if (id === '13') throw new Error('the database is away')
  return { id, total: 99.5 }
})

// Finishes the requests under way. The process then ends by itself, as soon as the last events are delivered.
async function stop(signal: NodeJS.Signals): Promise<void> {
  logger.info('stopping', { signal })
  await app.close()
  logger.end()
}
process.once('SIGTERM', stop).once('SIGINT', stop)

// Fastify logs its address.
await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
