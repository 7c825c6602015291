import type { Socket } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
import type { ResolvedTls } from '../options/tls-options.ts'

/** How long a connection may take to be made, in milliseconds. */
const connectTimeoutMs = 10_000

/**
 * A pool of connections to the service. undici loads here, with the first request: a log call does not need it.
 *
 * The connections never keep the process alive: at its natural end the exit hook decides how long it waits for them.
 *
 * @param connecting holds each connection while it is being made: the pool's own `close()` and `destroy()` wait for those
 */
export async function openConnections(
  origin: string,
  connections: number,
  tls?: ResolvedTls | undefined,
  connecting?: Set<Socket> | undefined,
): Promise<Dispatcher> {
  const { buildConnector, Pool } = await import('undici')
  const connector = buildConnector({ ...tls, timeout: connectTimeoutMs, allowH2: false })
  const connect = unreferenced(connector, connecting ?? new Set())
  // Deadlines are ours (exchange.ts): undici's run per chunk, and a server that trickles never trips them.
  return new Pool(origin, { connections, connect, pipelining: 1, headersTimeout: 0, bodyTimeout: 0, allowH2: false })
}

function unreferenced(connect: buildConnector.connector, connecting: Set<Socket>): buildConnector.connector {
  return (options, callback) => {
    const socket = connect(options, (...made) => {
      if (socket !== undefined) connecting.delete(socket)
      callback(...made)
    }) as unknown as Socket | undefined
    if (socket === undefined) return
    connecting.add(socket)
    socket.unref()
    socket.ref = () => socket // undici references a socket again for each request
  }
}
