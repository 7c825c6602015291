import type { buildConnector, Dispatcher } from 'undici'
import type { ResolvedTls } from '../options/tls-options.ts'

/** How long a connection may take to be made, in milliseconds. */
const connectTimeoutMs = 10_000

/**
 * A pool of connections to the service. undici loads here, with the first request: a log call does not need it.
 *
 * The connections never keep the process alive: at its natural end the exit hook decides how long it waits for them.
 */
export async function openConnections(
  origin: string,
  connections: number,
  tls?: ResolvedTls | undefined,
): Promise<Dispatcher> {
  const { buildConnector, Pool } = await import('undici')
  const connect = unreferenced(buildConnector({ ...tls, timeout: connectTimeoutMs, allowH2: false }))
  // Deadlines are ours (exchange.ts): undici's run per chunk, and a server that trickles never trips them.
  return new Pool(origin, { connections, connect, pipelining: 1, headersTimeout: 0, bodyTimeout: 0, allowH2: false })
}

function unreferenced(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    const socket = connect(options, callback) as unknown as { unref(): void; ref(): unknown } | undefined
    if (socket === undefined) return
    socket.unref()
    socket.ref = () => socket // undici references a socket again for each request
  }
}
