import * as http from 'node:http'
import * as https from 'node:https'
import { connect, type Socket } from 'node:net'
import { deadline } from '../../time-limits.ts'
import { basicAuth, type Target } from './proxy-address.ts'

/** A proxy has refused to make a tunnel. */
export class TunnelRefused extends Error {
  readonly status: number

  constructor(status: number) {
    super(`the proxy answers ${status}`)
    this.status = status
  }
}

/** Opens a connection. Nothing is sent over it. The caller destroys the socket. */
export function socketTo({ host, port }: Target, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  // Node's 250 ms for each of several addresses are too short for a distant host.
  const socket = connect({ host, port, autoSelectFamilyAttemptTimeout: Math.ceil(timeoutMs / 4) })
  const stopClock = deadline(timeoutMs, () => socket.destroy(timedOut(timeoutMs)))
  socket.once('connect', () => resolve(socket))
  socket.on('error', reject)
  return promise.finally(stopClock)
}

/**
 * Opens a connection through a tunnel of a proxy.
 *
 * @throws TunnelRefused if the proxy does not make the tunnel
 */
export function tunnelTo({ host, port }: Target, proxy: URL, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const path = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const { Agent, request: requestBy } = proxy.protocol === 'https:' ? https : http
  const request = requestBy({
    method: 'CONNECT',
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    path,
    headers: { host: path, ...basicAuth(proxy) },
    agent: new Agent({ proxyEnv: {} }), // no proxy on the way to the proxy
  })
  request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
    if (statusCode >= 200 && statusCode < 300) return resolve(socket)
    socket.destroy()
    reject(new TunnelRefused(statusCode))
  })
  request.once('response', response => {
    response.destroy()
    reject(new TunnelRefused(response.statusCode ?? 0))
  })
  request.once('error', reject)
  const stopClock = deadline(timeoutMs, () => request.destroy(timedOut(timeoutMs)))
  request.end()
  return promise.finally(stopClock)
}

export function timedOut(timeoutMs: number): Error {
  return Object.assign(new Error(`no connection within ${timeoutMs} ms`), { code: 'ETIMEDOUT' })
}
