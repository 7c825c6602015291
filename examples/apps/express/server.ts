/**
 * An Express app. Every event of a request carries the trace id of that request, although only the middleware knows the
 * id. Debug events are shipped only for requests that fail.
 *
 *     npx logferry dev -- npm run express
 *     curl http://127.0.0.1:3000/orders/42    # ships one event
 *     curl http://127.0.0.1:3000/orders/13    # fails, and ships its debug event as well
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type NextFunction, type Request, type Response } from 'express'
import { LogferryTransport } from 'logferry/winston'
import winston from 'winston'

const requests = new AsyncLocalStorage<{ trace_id: string }>()

const text = winston.format.printf(({ level, message }) => `${level}: ${message}`)
const logger = winston.createLogger({
  level: 'debug',
  transports: [
    new winston.transports.Console({ level: 'info', format: text }),
    new LogferryTransport({
      dataset: 'express',
      context: () => requests.getStore(),
      hold: { below: 'info', trigger: 'error' },
    }),
  ],
})

const app = express()

app.use((request, response, next) => {
  const startedAtMs = performance.now()
  requests.run({ trace_id: randomUUID() }, () => {
    const onClose = () => {
      logger.info(`${request.method} ${request.originalUrl}`, {
        // The route, not only the URL: the route groups the requests for all orders.
        http: { method: request.method, route: request.route?.path, status: response.statusCode },
        // False if the client went away before the end of its answer.
        complete: response.writableFinished,
        duration_ms: Math.round(performance.now() - startedAtMs),
      })
      // A connection kept alive would hold up the end of the server.
      if (!server.listening) server.closeIdleConnections()
    }
    response.once('close', AsyncLocalStorage.bind(onClose))
    next()
  })
})

app.get('/orders/:id', async (request, response) => {
  response.json(await findOrder(request.params.id))
})

app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
  logger.error('handler failed', { error })
  response.status(500).json({ error: 'internal error' })
})

/** Any module logs with the trace id of the request that called it. */
async function findOrder(id: string): Promise<{ id: string; total: number }> {
  logger.debug('order is not in the cache', { order: { id } })
  await sleep(100)
  if (id === '13') throw new Error('the database is away')
  return { id, total: 99.5 }
}

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', error => {
  if (error) throw error
  logger.info(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

// Finishes the requests under way, delivers the last events, and ends the process, whatever else it has open.
function stop(signal: NodeJS.Signals): void {
  logger.info('stopping', { signal })
  server.close(() => logger.once('finish', () => process.exit()).end())
}
process.once('SIGTERM', stop).once('SIGINT', stop)
