import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** A forward proxy that replaces every host by one port of this machine. */
export interface ForwardProxy extends AsyncDisposable {
  readonly port: number
  /** The requests so far: `CONNECT host:port`, or a method and an absolute address. */
  readonly asked: readonly string[]
  /** Credentials of each request. */
  readonly credentials: readonly (string | undefined)[]
}

interface Behavior {
  /** Answers requests for a tunnel, in place of opening the tunnel. */
  readonly onConnect?: (socket: Duplex) => void
  /** The answer to plain HTTP requests, in place of forwarding them. */
  readonly answer?: { readonly status: number; readonly body: (request: IncomingMessage) => string }
}

export async function startProxy(target: string, { onConnect, answer }: Behavior = {}): Promise<ForwardProxy> {
  const port = Number(new URL(target).port)
  const asked: string[] = []
  const credentials: (string | undefined)[] = []
  const sockets = new Set<Socket>()
  const note = ({ method, url, headers }: IncomingMessage): void => {
    asked.push(`${method} ${url}`)
    credentials.push(headers['proxy-authorization'])
  }
  const server = createServer((incoming, response) => {
    note(incoming)
    if (answer !== undefined) return void response.writeHead(answer.status).end(answer.body(incoming))
    const { pathname } = new URL(incoming.url as string)
    const passedOn = request({ port, path: pathname, method: incoming.method, headers: incoming.headers }, from => {
      response.writeHead(from.statusCode as number, from.headers)
      from.pipe(response)
    })
    incoming.pipe(passedOn)
  })
  server.on('connect', (incoming: IncomingMessage, socket: Duplex) => {
    note(incoming)
    socket.on('error', () => {})
    if (onConnect !== undefined) return onConnect(socket)
    const toTarget = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(toTarget).pipe(socket)
    })
    toTarget.on('error', () => socket.destroy())
  })
  server.on('connection', socket => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    credentials,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}
