import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A way to a service that a test can cut or block, as a network does. */
export interface CuttableProxy extends AsyncDisposable {
  readonly url: string
  /** Breaks open connections and refuses new ones, until `mend`. */
  cut(): Promise<void>
  mend(): Promise<void>
  /** Reads no answer of the service any more, and keeps all connections, until `unblock`. */
  block(): void
  unblock(): void
}

/** Starts a proxy in front of a service, which takes the requests for its own. */
export async function startCuttableProxy(target: string): Promise<CuttableProxy> {
  const { host, origin } = new URL(target)
  const passages = new Map<IncomingMessage, ServerResponse>()
  let isBlocked = false
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, host, ...(incoming.headers.origin && { origin }) }
    const forwarded = request(`${target}${incoming.url}`, { method: incoming.method ?? 'GET', headers, agent: false })
    forwarded.on('response', response => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      passages.set(response, answer)
      if (!isBlocked) response.pipe(answer)
      response.on('error', () => answer.destroy())
      response.on('close', () => passages.delete(response))
    })
    forwarded.on('error', () => answer.destroy())
    answer.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  const { port } = await listening(server, 0)
  const stop = async () => {
    const closed = new Promise(resolve => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  return {
    url: `http://127.0.0.1:${port}`,
    cut: stop,
    async mend() {
      await listening(server, port)
    },
    block() {
      isBlocked = true
      for (const [response, answer] of passages) response.unpipe(answer)
    },
    unblock() {
      isBlocked = false
      for (const [response, answer] of passages) response.pipe(answer)
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await stop()
    },
  }
}

async function listening(server: Server, port: number): Promise<AddressInfo> {
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return server.address() as AddressInfo
}
