import net from 'node:net'
import type { Emulator } from '../../src/emulator.ts'

export interface Sent {
  dataset?: string
  body?: string | Uint8Array | object
  type?: string | undefined
  encoding?: string
  token?: string
  headers?: Record<string, string>
}

/** Sends a body to the ingest endpoint: an object or a list as JSON, anything else unchanged. */
export function post(
  emulator: Emulator,
  { dataset = 'checkout', body = [{ n: 1 }], ...sent }: Sent = {},
): Promise<Response> {
  const type = 'type' in sent ? sent.type : 'application/json'
  const raw = typeof body === 'string' || body instanceof Uint8Array
  return fetch(`${emulator.url}/v1/datasets/${encodeURIComponent(dataset)}/ingest`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${sent.token ?? emulator.token}`,
      ...(type && { 'content-type': type }),
      ...(sent.encoding && { 'content-encoding': sent.encoding }),
      ...sent.headers,
    },
    // Sends bytes, because fetch would add its own media type to a string.
    body: Buffer.from(raw ? (body as string) : JSON.stringify(body)),
  })
}

/** Sends bytes over a plain socket. Resolves to everything that comes back until the connection ends. */
export function exchangeRaw({ port }: Pick<Emulator, 'port'>, send: (socket: net.Socket) => void): Promise<string> {
  return new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1', () => send(socket))
    let answer = ''
    socket.on('data', chunk => {
      answer += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(answer))
  })
}

/** Returns the JSON body of a raw answer. */
export function jsonOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
}
