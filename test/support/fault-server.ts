import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { until } from './until.ts'

/** A request, as far as it has arrived. */
export interface WireRequest {
  /** Index of the request, from 0, over all connections. */
  readonly index: number
  /** Index of its connection, from 0. */
  readonly connection: number
  readonly socket: Socket
  /** Times at which its head had arrived, and at which its connection ended; monotonic, in milliseconds. */
  readonly atMs: number
  readonly endedAtMs: number | undefined
  /** The request line and the headers. */
  readonly head: string
  /** The part of the body that has arrived. */
  readonly body: Buffer
  readonly isWhole: boolean
  /** Returns the events of a complete request. */
  lines(): string[]
  /** Stores the events, except those for which `isLeftOut` returns true. */
  store(isLeftOut?: (line: string) => boolean): void
  /** Sends an answer with a `content-length`; `headers` are lines without their line breaks. */
  answer(status: string, body?: string | Buffer, ...headers: readonly string[]): void
  /** Stores the events, and answers 200. */
  take(): void
}

/** The service at the level of bytes, for faults below HTTP. A script decides what happens to each request. */
export interface FaultServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The requests so far; empty if they are not kept. */
  readonly requests: readonly WireRequest[]
  readonly requestCount: number
  /** Number of connections so far. */
  readonly connections: number
  /** Numbers (`n`) of the events stored, in the order of their arrival. */
  readonly numbers: readonly number[]
  /** Waits until the client has closed every connection, and fails after five seconds. */
  whenDeserted(): Promise<void>
  /** Ends the server: connections are reset, and new ones are refused. */
  close(): Promise<void>
}

export interface FaultServerOptions {
  readonly host?: string
  readonly port?: number
  readonly tls?: { readonly key: string; readonly cert: string }
  /** True, the default, if requests are kept with their bodies. Many requests take much memory. */
  readonly keepsRequests?: boolean
  /** Called with each new connection, before its first request. */
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

const decompressions = new Map<string | undefined, (body: Buffer) => Buffer>([
  [undefined, body => body],
  ['zstd', zstdDecompressSync],
  ['gzip', gunzipSync],
])

/** Returns the events of a body of newline-delimited JSON. */
function linesIn(body: Buffer, encoding: string | undefined): string[] {
  const decompress = decompressions.get(encoding)
  if (decompress === undefined) throw new Error(`the fault server cannot read the encoding ${encoding}`)
  return decompress(body).toString('utf8').trimEnd().split('\n')
}

function numberIn(line: string): number {
  return (JSON.parse(line) as { n: number }).n
}
