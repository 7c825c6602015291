import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Arrived, type Encoding, Tally } from '../receiver/tally.ts'

/** Trouble of the service. */
export interface Fault {
  /** Time after the first log call in which connections are refused, in milliseconds. */
  readonly downMs?: number
  /** Number of requests, the first ones, that are answered with 429 and `Retry-After: 1`. */
  readonly throttled?: number
  /** Number of requests, the first ones, whose connections are reset after the body has arrived. */
  readonly resets?: number
  /** Maximum size of a body on the wire, in bytes. A larger one is answered with 413. */
  readonly maxBodyBytes?: number
}

/** A service that counts the events of the requests that it accepts, in whatever format. */
export interface FaultyService extends AsyncDisposable {
  readonly port: number
  /** Begins the time for which the service is down. */
  begin(): void
  arrived(): Promise<Arrived>
}

export async function startFaultyService(fault: Fault, events: number): Promise<FaultyService> {
  const tally = new Tally(events)
  let left = { throttled: fault.throttled ?? 0, resets: fault.resets ?? 0 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      if (left.resets > 0) {
        left = { ...left, resets: left.resets - 1 }
        request.socket.resetAndDestroy()
      } else if (left.throttled > 0) {
        left = { ...left, throttled: left.throttled - 1 }
        response
          .writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' })
          .end('{"message":"too many"}')
      } else if (body.length > (fault.maxBodyBytes ?? Number.POSITIVE_INFINITY)) {
        response.writeHead(413, { 'content-type': 'application/json' }).end('{"message":"too large"}')
      } else {
        tally.add(encodingOf(request), body)
        accept(request, response)
      }
    })
  })
  const isDown = (fault.downMs ?? 0) > 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  if (isDown) server.close()
  const stopped = new AbortController()
  return {
    port,
    begin() {
      if (!isDown) return
      pause(fault.downMs, undefined, { signal: stopped.signal }).then(
        () => server.listen(port, '127.0.0.1'),
        () => {},
      )
    },
    arrived: () => tally.total(),
    async [Symbol.asyncDispose]() {
      stopped.abort()
      server.closeAllConnections()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}

function encodingOf({ headers, url }: IncomingMessage): Encoding {
  const encoding = headers['content-encoding']
  if (encoding === 'gzip' || encoding === 'zstd') return encoding
  return url?.startsWith('/loki/') && headers['content-type'] === 'application/x-protobuf' ? 'snappy' : 'none'
}

function accept({ url }: IncomingMessage, response: ServerResponse): void {
  if (url?.startsWith('/loki/')) response.writeHead(204).end()
  else if (url === '/v1/logs') response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  else response.writeHead(200, { 'content-type': 'application/json' }).end('{"failed":0,"failures":[]}')
}
