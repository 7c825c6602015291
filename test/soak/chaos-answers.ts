import { gzipSync } from 'node:zlib'
import type { WireRequest } from '../support/fault-server.ts'

/**
 * One way to answer a request, or not to answer it. Called for each piece of a request; most ways wait for the whole.
 */
export type Treatment = (request: WireRequest, isPoison: (line: string) => boolean) => void

const page = '<html><head><title>Error</title></head><body><script>alert(1)</script>\u001b[31mno</body></html>'
const json = (value: object) => JSON.stringify(value)

/**
 * Number of times that an event was refused although nothing is wrong with it, while it was alone in its request. By
 * the number of the event.
 */
export const refusedAlone = new Map<number, number>()

/** Answers when the whole request has arrived, and stores nothing. */
function refuse(status: string, body: string | Buffer = '', ...headers: string[]): Treatment {
  return request => {
    if (!request.isWhole) return
    const [line = '', ...others] = request.lines()
    if (others.length === 0) {
      const { n } = JSON.parse(line) as { n: number }
      refusedAlone.set(n, (refusedAlone.get(n) ?? 0) + 1)
    }
    request.answer(status, body, ...headers)
  }
}

/** Stores the request, and then calls `then`. */
function store(then: (request: WireRequest) => void): Treatment {
  return request => {
    if (!request.isWhole) return
    request.store()
    then(request)
  }
}

/** Answers as a healthy service does. A request with an event that it refuses gets a 400. */
export const well: Treatment = (request, isPoison) => {
  if (!request.isWhole) return
  const lines = request.lines()
  if (lines.some(isPoison)) request.answer('400 Bad Request', json({ message: 'an event has no meaning' }))
  else request.take()
}

/** Answers as a healthy service does that names the events that it refuses. */
const naming: Treatment = (request, isPoison) => {
  if (!request.isWhole) return
  const poison = request.lines().filter(isPoison)
  request.store(isPoison)
  const failures = poison.map(line => ({ timestamp: JSON.parse(line)._time, error: 'an event has no meaning' }))
  request.answer('200 OK', json({ ingested: request.lines().length - poison.length, failed: poison.length, failures }))
}

const statuses = [
  ...['400 Bad Request', '401 Unauthorized', '403 Forbidden', '404 Not Found', '405 Method Not Allowed', '407 Proxy'],
  ...['408 Request Timeout', '409 Conflict', '410 Gone', '411 Length Required', '413 Too Large', '415 Unsupported'],
  ...['418 Teapot', '422 Unprocessable', '425 Too Early', '429 Too Many', '430 Too Many', '431 Headers', '451 Legal'],
  ...['500 Error', '501 Not Implemented', '502 Bad Gateway', '503 Unavailable', '504 Timeout', '507 Full', '520 Odd'],
]
const bodies = ['', page, json({ message: 'no' }), '{"message":"half', json({ message: '\u001b[2J'.repeat(5000) })]

/** Troubles by name. Each lasts for a while. A trouble that ends in a status takes a body of any kind. */
export const troubles: Readonly<Record<string, Treatment>> = {
  ...Object.fromEntries(statuses.map((status, n) => [status, refuse(status, bodies[n % bodies.length])])),
  '301 to another host': refuse('301 Moved', '', 'location: http://127.0.0.2:9/'),
  '308 to itself': refuse('308 Moved', '', 'location: /'),
  '429 with Retry-After': refuse('429 Too Many', '', 'retry-after: 1'),
  '429 with headers': refuse(
    '429 Too Many',
    '',
    'x-ratelimit-limit: 20',
    'x-ratelimit-remaining: 0',
    'x-ratelimit-reset: 1',
  ),
  '503 with a date': request => {
    const at = new Date(Date.now() + 1000).toUTCString()
    if (request.isWhole) request.answer('503 Unavailable', '', `retry-after: ${at}`)
  },
  '503 compressed': refuse('503 Unavailable', gzipSync(page.repeat(1000)), 'content-encoding: gzip'),
  '200 with a page': store(request => request.answer('200 OK', page)),
  '200 with a body of 2 MB': store(request => request.answer('200 OK', 'x'.repeat(2_000_000))),
  '200 with nothing': store(request => request.answer('200 OK')),
  '204': store(request => request.socket.write('HTTP/1.1 204 No Content\r\n\r\n')),
  '200 with half a body, then a reset': store(request => {
    request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"ing')
    setTimeout(() => request.socket.resetAndDestroy(), 20)
  }),
  'names refused events': naming,
  'resets after the head': request => void request.socket.resetAndDestroy(),
  'resets when the whole request has arrived': request => {
    if (request.isWhole) request.socket.resetAndDestroy()
  },
  'stores, then resets': store(request => request.socket.resetAndDestroy()),
  'stores, then closes': store(request => request.socket.end()),
  'stores, and answers late': store(request => setTimeout(() => request.answer('200 OK', '{}'), 700)),
  'never answers': () => {},
  'is not HTTP': request => {
    if (request.isWhole) request.socket.end('SSH-2.0-OpenSSH_9.2\r\n')
  },
  'trickles its answer': store(request => {
    request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n')
    setTimeout(() => request.socket.write('{'), 300)
    setTimeout(() => request.socket.write('}'), 600)
  }),
  'continues, then accepts': request => {
    if (!request.isWhole) return
    request.socket.write('HTTP/1.1 102 Processing\r\n\r\n')
    request.take()
  },
}
