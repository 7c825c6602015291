import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A way to a service that a test can cut, as a network does: open connections break, and new ones are refused. */
export interface CuttableProxy extends AsyncDisposable {
  readonly url: string
  cut(): Promise<void>
  mend(): Promise<void>
}

/** Starts a proxy in front of a service, which takes the requests for its own. */
export async function startCuttableProxy(target: string): Promise<CuttableProxy> {
  const { host, origin } = new URL(target)
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, host, ...(incoming.headers.origin && { origin }) }
    const forwarded = request(`${target}${incoming.url}`, { method: incoming.method ?? 'GET', headers, agent: false })
    forwarded.on('response', response => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
      response.on('error', () => answer.destroy())
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
    async [Symbol.asyncDispose]() {
      if (server.listening) await stop()
    },
  }
}

async function listening(server: Server, port: number): Promise<AddressInfo> {
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return server.address() as AddressInfo
}
