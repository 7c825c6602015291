import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { until } from './until.ts'

/** A request, as far as it has arrived. */
export interface WireRequest {
  /** Counted from 0 over all connections. */
  readonly index: number
  /** Counted from 0. */
  readonly connection: number
  readonly socket: Socket
  /** When its head had arrived, and when its connection ended; monotonic, in milliseconds. */
  readonly atMs: number
  readonly endedAtMs: number | undefined
  /** Its first line and its headers. */
  readonly head: string
  /** What has come of its body. */
  readonly body: Buffer
  readonly isWhole: boolean
  /** Its events, once it is whole. */
  lines(): string[]
  /** Stores its events, but for those that are left out. */
  store(isLeftOut?: (line: string) => boolean): void
  /** Sends an answer with a `content-length`; `headers` are lines without their line breaks. */
  answer(status: string, body?: string | Buffer, ...headers: readonly string[]): void
  /** Stores its events and answers 200. */
  take(): void
}

/** The service, as far as bytes are concerned, with a script for what happens to each request: faults below HTTP. */
export interface FaultServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Empty when they are not kept. */
  readonly requests: readonly WireRequest[]
  readonly requestCount: number
  /** Connections made so far. */
  readonly connections: number
  /** Numbers (`n`) of the events stored, in the order of their arrival. */
  readonly numbers: readonly number[]
  /** Waits until the client has let go of every connection, and fails after five seconds. */
  whenDeserted(): Promise<void>
  /** Ends it: connections are reset, and new ones refused. */
  close(): Promise<void>
}

export interface FaultServerOptions {
  readonly host?: string
  readonly port?: number
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Whether requests are kept, with their bodies. `true` by default; at volume it takes memory. */
  readonly keepsRequests?: boolean
  /** Sees each connection first. */
  readonly onConnection?: (socket: Socket, index: number) => void
}

/** @param script called when the head of a request has arrived, and then for each piece of its body */
export async function startFaultServer(
  script: (request: WireRequest) => void,
  { host = '127.0.0.1', port = 0, tls, keepsRequests = true, onConnection }: FaultServerOptions = {},
): Promise<FaultServer> {
  const open = new Set<Socket>()
  const requests: Received[] = []
  const numbers: number[] = []
  let connections = 0
  let requestCount = 0

  const onSocket = (socket: Socket): void => {
    const connection = connections++
    let current: Received | undefined
    let unread = Buffer.alloc(0)
    open.add(socket)
    socket.setNoDelay()
    socket.on('error', () => {})
    socket.on('end', () => socket.end()) // a client that has closed its side expects nothing more
    socket.on('close', () => {
      open.delete(socket)
      if (current !== undefined) current.endedAtMs = performance.now()
    })
    socket.on('data', data => {
      unread = Buffer.concat([unread, data])
      while (unread.length > 0 && !socket.destroyed) {
        if (current === undefined || current.isWhole) {
          const headLength = unread.indexOf('\r\n\r\n') + 4
          if (headLength < 4) return
          current = new Received(requestCount++, connection, socket, unread.toString('latin1', 0, headLength), numbers)
          if (keepsRequests) requests.push(current)
          unread = unread.subarray(headLength)
          script(current)
          continue
        }
        const piece = unread.subarray(0, current.missingBytes)
        unread = unread.subarray(piece.length)
        current.pieces.push(piece)
        script(current)
      }
    })
    onConnection?.(socket, connection)
  }
  const server: Server =
    tls === undefined ? createServer({ allowHalfOpen: true }, onSocket) : createTlsServer(tls, onSocket)
  server.on('tlsClientError', () => {})
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    for (const socket of open) socket.destroy()
    await once(server, 'close')
  }
  return {
    url: `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    requests,
    numbers,
    get requestCount() {
      return requestCount
    },
    get connections() {
      return connections
    },
    whenDeserted: () => until(() => open.size === 0, 'the client lets go of every connection'),
    close,
    [Symbol.asyncDispose]: close,
  }
}

class Received implements WireRequest {
  readonly index: number
  readonly connection: number
  readonly socket: Socket
  readonly head: string
  readonly atMs = performance.now()
  readonly pieces: Buffer[] = []
  endedAtMs: number | undefined
  readonly #numbers: number[]

  constructor(index: number, connection: number, socket: Socket, head: string, numbers: number[]) {
    this.index = index
    this.connection = connection
    this.socket = socket
    this.head = head
    this.#numbers = numbers
  }

  get body(): Buffer {
    return Buffer.concat(this.pieces)
  }

  get missingBytes(): number {
    return this.#contentLength - this.pieces.reduce((bytes, piece) => bytes + piece.length, 0)
  }

  get isWhole(): boolean {
    return this.missingBytes === 0
  }

  lines(): string[] {
    return linesIn(this.body, this.#header('content-encoding'))
  }

  store(isLeftOut: (line: string) => boolean = () => false): void {
    for (const line of this.lines()) if (!isLeftOut(line)) this.#numbers.push(numberIn(line))
  }

  answer(status: string, body: string | Buffer = '', ...headers: readonly string[]): void {
    const head = [`HTTP/1.1 ${status}`, `content-length: ${Buffer.byteLength(body)}`, ...headers].join('\r\n')
    this.socket.write(Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body)]))
  }

  take(): void {
    this.store()
    this.answer('200 OK')
  }

  get #contentLength(): number {
    return Number(this.#header('content-length') ?? 0)
  }

  #header(name: string): string | undefined {
    return new RegExp(`^${name}: (.*)$`, 'im').exec(this.head)?.[1]?.trim()
  }
}

/** The events of a body in newline-delimited JSON. */
function linesIn(body: Buffer, encoding: string | undefined): string[] {
  const plain = encoding === 'zstd' ? zstdDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body
  return plain.toString('utf8').trimEnd().split('\n')
}

function numberIn(line: string): number {
  return (JSON.parse(line) as { n: number }).n
}
