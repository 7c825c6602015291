import { type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { delay } from '../time.ts'
import { type Answer, refusal } from './answer.ts'
import { sendAnswer } from './send-answer.ts'

// Delay before a socket is destroyed after its answer, in milliseconds. If a client is still sending when its socket is
// destroyed, it may lose the answer.
const lingerMs = 500

const refusals: Record<string, Answer> = {
  HPE_HEADER_OVERFLOW: refusal(431, 'headers-too-large', 'the headers are too long'),
  ERR_HTTP_REQUEST_TIMEOUT: refusal(408, 'request-timeout', 'the request took too long to arrive'),
}
const notHttp = refusal(400, 'malformed-request', 'this is not a valid HTTP request')
const noTunnels = refusal(405, 'wrong-method', 'CONNECT is not supported', { allow: 'GET, POST, PUT' })
const noExpectations = refusal(417, 'unknown-expectation', 'the only Expect supported is 100-continue')

/**
 * Answers requests that do not reach the `request` handler, in JSON too: messages that Node's HTTP parser rejects,
 * CONNECT, and unknown expectations.
 */
export function answerUnreadable(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    sendRaw(socket, refusals[error.code ?? ''] ?? notHttp)
  })
  server.on('connect', (_request, socket) => sendRaw(socket, noTunnels))
  server.on('checkExpectation', (_request, response) => sendAnswer(response, noExpectations))
}

function sendRaw(socket: Duplex, { status, headers, body }: Answer): void {
  // The parser reports another error for every further chunk of an invalid message, but one answer is enough.
  if (socket.writableEnded) return
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const fields = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.on('error', () => {})
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`)
  const closed = new AbortController()
  socket.once('close', () => closed.abort())
  delay(lingerMs, undefined, { signal: closed.signal }).then(
    () => socket.destroy(),
    () => {},
  )
}
