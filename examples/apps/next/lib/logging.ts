import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { LogferryTransport } from 'logferry/winston'
import { after } from 'next/server'
import winston from 'winston'

interface Logging {
  logger: winston.Logger
  requests: AsyncLocalStorage<{ trace_id: string }>
  /** Undefined during `next build`, which loads this module as well, but has no service. */
  transport: LogferryTransport | undefined
}

/** Next may load this module several times: for instrumentation.ts and for routes. All of them share one logger. */
const shared = globalThis as typeof globalThis & { logging?: Logging }
shared.logging ??= createLogging()
export const { logger, requests, transport } = shared.logging

function createLogging(): Logging {
  const requests: Logging['requests'] = new AsyncLocalStorage()
  const text = winston.format.printf(({ level, message }) => `${level}: ${message}`)
  const terminal = new winston.transports.Console({ level: 'info', format: text })
  const logger = winston.createLogger({ level: 'debug', transports: [terminal] })
  if (process.env.LOGFERRY_URL === undefined) return { logger, requests, transport: undefined }
  const transport = new LogferryTransport({
    dataset: 'next',
    context: () => requests.getStore(),
    hold: { below: 'info', trigger: 'error' },
  })
  logger.add(transport)
  return { logger, requests, transport }
}

type Handler<Context> = (request: Request, context: Context) => Promise<Response>

/** Runs a route handler with a trace id that all of its events carry, and logs the request. */
export function logged<Context>(handler: Handler<Context>): Handler<Context> {
  return (request, context) =>
    requests.run({ trace_id: randomUUID() }, async () => {
      const startedAtMs = performance.now()
      const response = await handler(request, context).catch(failed)
      logger.info(`${request.method} ${new URL(request.url).pathname}`, {
        http: { method: request.method, status: response.status },
        duration_ms: Math.round(performance.now() - startedAtMs),
      })
      // Serverless platforms freeze the process after the answer, unless such a promise is pending.
      after(() => transport?.shipper.flush({ timeoutMs: 2000 }))
      return response
    })
}

function failed(error: unknown): Response {
  logger.error('handler failed', { error })
  return Response.json({ error: 'internal error' }, { status: 500 })
}
