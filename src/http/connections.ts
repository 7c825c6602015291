import type { buildConnector, Dispatcher } from 'undici'
import type { ResolvedTls } from '../options/tls-options.ts'

/** How long a connection may take to be made, in milliseconds. */
const connectTimeoutMs = 10_000

/**
 * A pool of connections to the service. undici loads here, with the first request: a log call does not need it.
 *
 * The connections never keep the process alive: at its natural end the exit hook decides how long it waits for them.
 *
 * @param closing ends connections that are still being made, and from then on none is: the pool's own `close()` waits for
 *   them, and makes more for requests that nobody waits for any more
 */
export async function openConnections(
  origin: string,
  connections: number,
  tls?: ResolvedTls | undefined,
  closing?: AbortSignal | undefined,
): Promise<Dispatcher> {
  const { buildConnector, Pool } = await import('undici')
  const connector = buildConnector({ ...tls, timeout: connectTimeoutMs, allowH2: false })
  const connect = unreferenced(closing === undefined ? connector : until(closing, connector))
  // Deadlines are ours (exchange.ts): undici's run per chunk, and a server that trickles never trips them.
  return new Pool(origin, { connections, connect, pipelining: 1, headersTimeout: 0, bodyTimeout: 0, allowH2: false })
}

function until(closing: AbortSignal, connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const socket = connect(options, (...made) => {
      closing.removeEventListener('abort', end)
      callback(...made)
    }) as unknown as ConnectingSocket | undefined
    const end = (): unknown => socket?.destroy(new Error('closed'))
    if (closing.aborted) end()
    else closing.addEventListener('abort', end)
    return socket as never
  }
}

function unreferenced(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const socket = connect(options, callback) as unknown as ConnectingSocket | undefined
    if (socket === undefined) return
    socket.unref()
    socket.ref = () => socket // undici references a socket again for each request
  }
}

/** What a connector returns, other than its type says. */
interface ConnectingSocket {
  destroy(error: Error): unknown
  unref(): void
  ref(): unknown
}
