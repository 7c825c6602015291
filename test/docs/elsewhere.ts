import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A service of another kind, for what the documentation shows of other libraries: takes any request, and counts it. */
export interface Elsewhere extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>
  /** Resolves when so many requests have been answered. */
  whenRequested(count: number): Promise<void>
}

export async function startElsewhere(): Promise<Elsewhere> {
  let requests = 0
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      requests++
      if (request.url?.startsWith('/loki/')) response.writeHead(204).end()
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      response.on('close', () => {
        for (const look of waiting) look()
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    environment: {
      HTTP_PORT: String(port),
      LOKI_URL: url,
      AXIOM_URL: url,
      AXIOM_TOKEN: 'elsewhere',
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
    },
    whenRequested: count =>
      new Promise(resolve => {
        const look = () => {
          if (requests < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
