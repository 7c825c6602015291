import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Socket } from 'node:net'
import { NativePromise } from '../native-promise.ts'
import { ownProperties } from '../own-properties.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { monotonicMs, queueMicrotask, setImmediate } from '../time.ts'
import { deadline } from '../time-limits.ts'
import { AddressChoice, neededMoreTime } from './address-choice.ts'
import { limitAge } from './connection-age.ts'
import type { Dispatcher, DispatchHandler, DispatchOptions } from './dispatcher.ts'
import { holdUntilVerified, type ResolvedTls, verifiedTls } from './verified-tls.ts'

/** Maximum time to make a connection, in milliseconds. */
const connectTimeoutMs = 10_000

/** Time that an idle connection is kept for the next request, in milliseconds; less if the server says so. */
const idleTimeoutMs = 4000

/** Time after an answer from which kept connections may have something unread, in milliseconds. */
const unreadAfterMs = 5

/** Time for which a connection is kept at most, however busy it is, in milliseconds. */
const maxAgeMs = 60_000

/** TLS options and proxy for connections to the service. */
interface Way {
  readonly tls?: ResolvedTls | undefined
  /** Variables that name the proxy to Node's agents. */
  readonly proxy?: { readonly env: Readonly<Record<string, string>> } | undefined
}

/**
 * This package's own connections to the service, through `node:http`, which loads within 2 ms (5 ms with TLS). An HTTP
 * client from the registry takes 50 ms in one piece and 30 MB, and sends a batch no cheaper.
 *
 * The connections never keep the process alive. At the natural end of the process, the exit hook decides how long to
 * wait for them.
 */
export class Connections implements Dispatcher {
  readonly #http: Pick<typeof import('node:http'), 'request'>
  readonly #agent: Agent
  readonly #isSecure: boolean
  readonly #target: RequestOptions
  readonly #addressChoice = new AddressChoice()
  /** The requests in flight. Not a `Set`, for the reason given at `ShortMap` in delivery/short-map.ts. */
  #requests: ClientRequest[] = []
  /** Ends the tunnels that are being made; missing without a proxy for TLS. */
  readonly #endTunnels: (() => void) | undefined
  #onIdle: (() => void) | undefined
  /** Time at which an answer was last read to its end; monotonic, in milliseconds. */
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(origin: string, maxConnections: number, { tls, proxy }: Way = {}) {
    const { protocol, hostname, port } = new URL(origin)
    this.#isSecure = protocol === 'https:'
    // Not by `import()`, which reads every export, and so loads modules that Node loads on demand (20 ms).
    const http = process.getBuiltinModule(this.#isSecure ? 'node:https' : 'node:http')
    this.#http = http
    const options = ownProperties({
      ...verifiedTls(tls),
      keepAlive: true,
      maxSockets: maxConnections,
      timeout: idleTimeoutMs,
      // If it is missing, some versions of Node use the proxies of the environment.
      proxyEnv: ownProperties(proxy?.env ?? {}),
    })
    this.#agent = new http.Agent(options)
    limitAge(this.#agent, maxAgeMs)
    if (this.#isSecure && proxy?.env.https_proxy !== undefined) this.#endTunnels = watchTunnels(this.#agent)
    this.#target = { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port }
  }

  /**
   * Starts a request. If the server closes a kept connection at the moment of its reuse, the request is made again over
   * a new connection. Such a close is no trouble of the service. The request is repeated only once, as the first one
   * may have arrived. It is also made again if the time for each address of the host was too short.
   */
  dispatch(options: DispatchOptions, handler: DispatchHandler): true {
    const isRead = monotonicMs() - this.#readAtMs < unreadAfterMs || Object.keys(this.#agent.freeSockets).length === 0
    if (isRead) this.#start(options, handler, { mayRepeat: true })
    else this.#startAfterReading(options, handler)
    return true
  }

  /**
   * Starts a request that may use a kept connection, once the sockets have been read. If the event loop was blocked,
   * the server may have closed such a connection. Or it may have sent a second answer to the previous request, which
   * would count for this one. Node closes the connection when it reads that. The first immediate may run before any
   * socket is read.
   */
  #startAfterReading(options: DispatchOptions, handler: DispatchHandler): void {
    let abortedFor: Error | undefined
    const controller = {
      abort: (reason: Error): void => {
        abortedFor = reason
      },
    }
    handler.onRequestStart(controller)
    setImmediate(setImmediate, () => {
      if (abortedFor !== undefined) handler.onResponseError(controller, abortedFor)
      else this.#start(options, handler, { mayRepeat: true })
    })
  }

  #start(options: DispatchOptions, handler: DispatchHandler, { mayRepeat }: { mayRepeat: boolean }): void {
    const { path, method, headers, body } = options
    const target = { ...this.#target, ...this.#addressChoice.options, path, method, headers, agent: this.#agent }
    let request: ClientRequest
    try {
      request = this.#http.request(ownProperties(target))
    } catch (error) {
      // The application has put a function of its own in the place of Node's. An immediate may have made this call, and
      // would end the process with the error.
      return handler.onResponseError({ abort: () => {} }, error as Error)
    }
    const controller = { abort: (reason: Error) => void request.destroy(reason) }
    let hasAnswer = false
    let isOver = false
    let hasFinished = false
    // If the application has replaced `node:http` in its tests, there may be only one of both, and no 'close'.
    const isSent = (): boolean => hasFinished || request.writableFinished
    const leave = (): void => {
      const at = this.#requests.indexOf(request)
      if (at >= 0) this.#requests.splice(at, 1)
      if (this.#requests.length === 0) this.#onIdle?.()
    }
    const fail = (error: NodeJS.ErrnoException): void => {
      if (isOver) return
      isOver = true
      retryOrReport(error)
      leave()
    }
    const retryOrReport = (error: NodeJS.ErrnoException): void => {
      const wasClosed = error.code === 'ECONNRESET' || error.code === 'EPIPE'
      const isStale = request.reusedSocket && wasClosed && !hasAnswer
      if (!(mayRepeat && (isStale || neededMoreTime(error)))) return handler.onResponseError(controller, error)
      if (isStale) this.#closeIdle() // the server closes other connections of the same age, too
      this.#start(options, handler, { mayRepeat: false })
    }
    const take = (response: IncomingMessage): void => {
      handler.onResponseStart(controller, response.statusCode as number, response.headers)
      response.on('data', chunk => handler.onResponseData(controller, chunk))
      response.on('end', () => {
        isOver = true
        this.#readAtMs = monotonicMs()
        // The answer came before the whole body was sent: the rest of the body is of no use.
        if (!isSent()) request.destroy()
        handler.onResponseEnd()
        leave()
      })
    }
    const takeIfSent = (response: IncomingMessage): void => {
      if (!isSent()) request.destroy(new Error('the service answered before it had received the request'))
      else if (!isOver) take(response)
    }
    this.#requests.push(request)
    request.on('finish', () => {
      hasFinished = true
    })
    request.on('socket', socket => this.#prepare(socket, request))
    request.on('information', ({ statusCode, headers }) => handler.onResponseStart(controller, statusCode, headers))
    request.on('response', response => {
      hasAnswer = true
      response.on('error', fail)
      if (isSent() || (response.statusCode as number) >= 300) take(response)
      // With TLS, Node notes only at the end of this turn that the body is sent, which may be after the answer.
      else setImmediate(takeIfSent, response)
    })
    request.on('error', fail)
    request.on('close', () => fail(new Error('the connection was closed without an answer')))
    handler.onRequestStart(controller)
    request.end(body)
  }

  /** The time for an attempt, and the address to begin with, as connections have taught them. */
  get addresses(): Pick<AddressChoice, 'attemptMs' | 'firstAddress' | 'isLookingUp'> {
    return this.#addressChoice
  }

  /** Closes each connection once its request has ended. */
  async close(): Promise<void> {
    this.#agent.maxFreeSockets = 0
    // Node ends an aborted request only when its tunnel is complete.
    this.#requests = this.#requests.filter(({ destroyed }) => !destroyed)
    const idle = this.#requests.length === 0 ? undefined : NativePromise.withResolvers<void>()
    this.#onIdle = idle?.resolve
    this.#closeIdle()
    await idle?.promise
    this.destroy()
  }

  /** Closes all connections at once. */
  destroy(): void {
    this.#endTunnels?.()
    this.#agent.destroy()
  }

  #closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
  }

  #prepare(socket: Socket, request: ClientRequest): void {
    socket.unref()
    socket.ref = itself // the agent calls `ref` for each request
    if (!socket.connecting) return
    request.once('response', this.#addressChoice.watch(socket))
    socket.on('connectionAttempt', socket.unref) // with several addresses, each attempt has its own handle
    const expire = (): void => void request.destroy(this.#addressChoice.isLookingUp ? noAddress() : noConnection())
    const stopClock = deadline(connectTimeoutMs, expire, { keepsAlive: false })
    holdUntilVerified(socket)
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', stopClock) // a proxy may use TLS for plain HTTP
    request.once('close', stopClock)
  }
}

/** Replaces `ref`. An arrow function in `#prepare` would keep its request in memory as long as the socket. */
function itself(this: Socket): Socket {
  return this
}

function noConnection(): Error {
  return tookTooLong('no connection')
}

function noAddress(): Error {
  return tookTooLong('no answer from the name service')
}

function tookTooLong(what: string): Error {
  return Object.assign(new Error(`${what} within ${milliseconds(connectTimeoutMs)}`), { code: 'ETIMEDOUT' })
}

/** The function that Node's agents call to make a connection. They accept only one call of the callback. */
type CreateConnection = (
  options: RequestOptions,
  onConnection: (error: Error | null, socket?: Socket) => void,
) => Socket | undefined

/** Maximum bytes of a proxy's answer to a tunnel request. Node itself reads to the end of the header, however long. */
const maxTunnelAnswerBytes = 65_536

/**
 * Keeps tunnels through a proxy from holding the process alive while they are made, and ends slow ones. The time limit
 * includes TLS. `#prepare` comes too late, because a request gets its socket only when the tunnel is complete.
 *
 * @returns a function that ends the tunnels that are being made
 */
function watchTunnels(agent: Agent): () => void {
  const unfinished = new Set<(error: Error) => void>()
  const createConnection = agent.createConnection as CreateConnection
  const watched: CreateConnection = (options, onConnection) => {
    let stopWatching: (() => void) | undefined
    const settle = (error: Error | null, socket?: Socket): void => {
      stopWatching?.()
      stopWatching = () => {}
      unfinished.delete(settle)
      if (error instanceof Error) toProxy?.destroy()
      onConnection(error, socket)
    }
    const toProxy = createConnection.call(agent, { ...options, timeout: connectTimeoutMs }, settle)
    // A host in NO_PROXY is connected to directly, and the agent has its socket by now.
    queueMicrotask(() => {
      if (toProxy !== undefined && stopWatching === undefined && !isAmong(agent.sockets, toProxy)) {
        stopWatching = watchTunnel(toProxy, settle)
        unfinished.add(settle)
      }
    })
    return toProxy
  }
  Object.assign(agent, { createConnection: watched })
  return () => {
    for (const settle of unfinished) settle(new Error('the connections were closed'))
  }
}

function isAmong(sockets: Agent['sockets'], socket: Socket): boolean {
  return Object.values(sockets).some(ofOneName => ofOneName?.includes(socket))
}

/** Returns a function that ends the watch. */
function watchTunnel(toProxy: Socket, settle: (error: Error) => void): () => void {
  const checkBytes = (): void => {
    if (toProxy.bytesRead > maxTunnelAnswerBytes) settle(new Error('the answer of the proxy is too long'))
  }
  toProxy.unref().on('connectionAttempt', toProxy.unref).on('readable', checkBytes)
  const stopClock = deadline(connectTimeoutMs, () => settle(noConnection()), { keepsAlive: false })
  return () => {
    stopClock()
    toProxy.off('readable', checkBytes)
  }
}
