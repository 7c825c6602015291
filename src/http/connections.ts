import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import { ownProperties } from '../options/own-properties.ts'
import type { ResolvedTls } from '../options/tls-options.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { deadline } from './deadline.ts'
import type { Dispatcher, DispatchHandler, DispatchOptions } from './dispatcher.ts'
import { holdUntilVerified, verifiedTls } from './verified-tls.ts'

/** How long a connection may take to be made, in milliseconds. */
const connectTimeoutMs = 10_000

/** How long a connection is kept for the next request, in milliseconds; less where the server says so. */
const idleTimeoutMs = 4000

/**
 * Connections of our own to the service, by node:http: it loads within 2 ms (5 with TLS), where an HTTP client from the
 * registry takes 50 ms in one piece and 30 MB, and sends a batch as cheaply.
 *
 * They never keep the process alive: at its natural end the exit hook decides how long it waits for them.
 */
export class Connections implements Dispatcher {
  readonly #http: Pick<typeof import('node:http'), 'request'>
  readonly #agent: Agent
  readonly #isSecure: boolean
  readonly #target: RequestOptions
  readonly #requests = new Set<ClientRequest>()
  #onIdle: (() => void) | undefined

  constructor(origin: string, maxConnections: number, tls?: ResolvedTls | undefined) {
    const { protocol, hostname, port } = new URL(origin)
    this.#isSecure = protocol === 'https:'
    // Not by import(), which would read all that the module exports, and so load what Node loads on demand (20 ms).
    const http = process.getBuiltinModule(this.#isSecure ? 'node:https' : 'node:http')
    this.#http = http
    this.#agent = new http.Agent({
      ...verifiedTls(tls),
      keepAlive: true,
      maxSockets: maxConnections,
      timeout: idleTimeoutMs,
    })
    this.#target = { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port }
  }

  /**
   * Starts a request. Where the server closes a kept connection just as it is used for another one, the request is made
   * again by a new one: that is no trouble of the service's. Once only, as nobody knows whether the first has arrived.
   */
  dispatch(options: DispatchOptions, handler: DispatchHandler): true {
    this.#start(options, handler, true)
    return true
  }

  #start(options: DispatchOptions, handler: DispatchHandler, mayBeMadeAgain: boolean): void {
    const { path, method, headers, body } = options
    const request = this.#http.request(ownProperties({ ...this.#target, path, method, headers, agent: this.#agent }))
    const controller = { abort: (reason: Error) => void request.destroy(reason) }
    let hasAnswer = false
    let isOver = false
    const fail = (error: NodeJS.ErrnoException): void => {
      if (isOver) return
      isOver = true
      const wasClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      if (!(mayBeMadeAgain && request.reusedSocket && wasClosed && !hasAnswer)) {
        return handler.onResponseError(controller, error)
      }
      this.#closeIdle() // what the server closes for its age, it closes with others of that age
      this.#start(options, handler, false)
    }
    const take = (response: IncomingMessage): void => {
      handler.onResponseStart(controller, response.statusCode as number, response.headers)
      response.on('data', chunk => handler.onResponseData(controller, chunk))
      response.on('end', () => {
        isOver = true
        // An answer that came before the body was sent: nobody waits for the rest of it.
        if (!request.writableFinished) request.destroy()
        handler.onResponseEnd()
      })
    }
    const takeIfSent = (response: IncomingMessage): void => {
      if (!request.writableFinished) request.destroy(new Error('the service has answered before it had the request'))
      else if (!isOver) take(response)
    }
    this.#requests.add(request)
    request.on('socket', socket => this.#prepare(socket, request))
    request.on('response', response => {
      hasAnswer = true
      response.on('error', fail)
      if (request.writableFinished || (response.statusCode as number) >= 300) take(response)
      else setImmediate(takeIfSent, response) // that all is sent TLS tells at the end of the turn, maybe after the answer
    })
    request.on('error', fail)
    request.on('close', () => {
      this.#requests.delete(request)
      if (this.#requests.size === 0) this.#onIdle?.()
      fail(new Error('the connection was closed without an answer'))
    })
    handler.onRequestStart(controller)
    request.end(body)
  }

  /** Lets go of each connection once its request has ended. */
  async close(): Promise<void> {
    this.#agent.maxFreeSockets = 0
    const idle = this.#requests.size === 0 ? undefined : Promise.withResolvers<void>()
    this.#onIdle = idle?.resolve
    this.#closeIdle()
    await idle?.promise
    this.#agent.destroy()
  }

  /** Lets go of the connections at once. */
  destroy(): void {
    this.#agent.destroy()
  }

  #closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }

  #prepare(socket: Socket, request: ClientRequest): void {
    socket.unref()
    socket.ref = itself // the agent references a socket again for each request
    if (!socket.connecting) return
    socket.on('connectionAttempt', socket.unref) // a host with several addresses: each has a handle of its own
    const stopClock = deadline(connectTimeoutMs, () => {
      request.destroy(new Error(`no connection within ${milliseconds(connectTimeoutMs)}`))
    })
    if (this.#isSecure) holdUntilVerified(socket)
    socket.once(this.#isSecure ? 'secureConnect' : 'connect', stopClock)
    request.once('close', stopClock)
  }
}

/** No arrow function in `#prepare`: that would keep the request that it was set for in memory as long as the socket. */
function itself(this: Socket): Socket {
  return this
}
