import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { Injectable, Logger, type NestMiddleware } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { NextFunction, Request, Response } from 'express'
import { requests } from './logging.ts'

/** Runs each request with a trace id, and logs the request when it has ended. */
@Injectable()
export class RequestLogging implements NestMiddleware {
  private readonly logger = new Logger(RequestLogging.name)

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  use(request: Request, response: Response, next: NextFunction): void {
    const startedAtMs = performance.now()
    requests.run({ trace_id: randomUUID() }, () => {
      const onClose = () => {
        this.logger.log({
          message: `${request.method} ${request.originalUrl}`,
          http: { method: request.method, route: request.route?.path, status: response.statusCode },
          duration_ms: Math.round(performance.now() - startedAtMs),
        })
        // A connection kept alive would hold up the end of the server.
        const server = this.adapterHost.httpAdapter.getHttpServer()
        if (!server.listening) server.closeIdleConnections()
      }
      response.once('close', AsyncLocalStorage.bind(onClose))
      next()
    })
  }
}
