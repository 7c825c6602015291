import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import { ownProperties } from '../options/own-properties.ts'
import type { ResolvedProxy } from '../options/proxy-env.ts'
import type { ResolvedTls } from '../options/tls-options.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { queueMicrotask, setImmediate } from '../time.ts'
import { deadline } from './deadline.ts'
import type { Dispatcher, DispatchHandler, DispatchOptions } from './dispatcher.ts'
import { holdUntilVerified, verifiedTls } from './verified-tls.ts'

/** How long a connection may take to be made, in milliseconds. */
const connectTimeoutMs = 10_000

/** How long a connection is kept for the next request, in milliseconds; less where the server says so. */
const idleTimeoutMs = 4000

/** What the way to the service takes. */
export interface Way {
  readonly tls?: ResolvedTls | undefined
  readonly proxy?: ResolvedProxy | undefined
}

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

  constructor(origin: string, maxConnections: number, { tls, proxy }: Way = {}) {
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
      proxyEnv: proxy?.env ?? {}, // without it, some versions of Node would use the proxies of the environment
    })
    if (this.#isSecure && proxy?.env.https_proxy !== undefined) watchTunnels(this.#agent)
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
      request.destroy(noConnection())
    })
    holdUntilVerified(socket)
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', stopClock) // plain HTTP may go to a proxy by TLS
    request.once('close', stopClock)
  }
}

/** No arrow function in `#prepare`: that would keep the request that it was set for in memory as long as the socket. */
function itself(this: Socket): Socket {
  return this
}

function noConnection(): Error {
  const message = `no connection within ${milliseconds(connectTimeoutMs)}`
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' })
}

/** What Node's agents call to make a connection. They take the callback for an answer once only. */
type CreateConnection = (
  options: RequestOptions,
  onConnection: (error: Error | null, socket?: Socket) => void,
) => Socket | undefined

/** Most bytes of a proxy's answer that asks for a tunnel; Node reads them to the end of the header, however long it is. */
const maxTunnelAnswerBytes = 65_536

/**
 * Has tunnels through a proxy not keep the process alive while they are made, and end if that takes too long, with TLS
 * included: a request is given its socket only when the tunnel is there.
 */
function watchTunnels(agent: Agent): void {
  const createConnection = agent.createConnection as CreateConnection
  const watched: CreateConnection = (options, onConnection) => {
    let stopWatching: (() => void) | undefined
    const settle = (error: Error | null, socket?: Socket): void => {
      stopWatching?.()
      stopWatching = () => {}
      if (error instanceof Error) toProxy?.destroy()
      onConnection(error, socket)
    }
    const toProxy = createConnection.call(agent, { ...options, timeout: connectTimeoutMs }, settle)
    // What NO_PROXY names is connected to directly, and is the agent's own by now.
    queueMicrotask(() => {
      if (toProxy !== undefined && stopWatching === undefined && !isAmong(agent.sockets, toProxy)) {
        stopWatching = watchTunnel(toProxy, settle)
      }
    })
    return toProxy
  }
  Object.assign(agent, { createConnection: watched })
}

function isAmong(sockets: Agent['sockets'], socket: Socket): boolean {
  return Object.values(sockets).some(ofOneName => ofOneName?.includes(socket))
}

/** Returns what ends the watch. */
function watchTunnel(toProxy: Socket, settle: (error: Error) => void): () => void {
  const checkBytes = (): void => {
    if (toProxy.bytesRead > maxTunnelAnswerBytes) settle(new Error('the answer of the proxy is too long'))
  }
  toProxy.unref().on('connectionAttempt', toProxy.unref).on('readable', checkBytes)
  const stopClock = deadline(connectTimeoutMs, () => settle(noConnection()))
  return () => {
    stopClock()
    toProxy.off('readable', checkBytes)
  }
}
