/**
 * The service that every set-up ships to, in a process of its own: takes what comes, counts it, answers. Started by
 * harness/receiver-process.ts, and told by messages what a run will send.
 *
 * It costs about a quarter of a microsecond an event, so that it is never what is measured: bodies are scanned for event
 * numbers, not parsed, and compressed ones are decoded when the run is over.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { BodyBuffers } from './body-buffers.ts'
import { organizationJson } from './organization.ts'
import { type Encoding, Tally } from './tally.ts'

export type ReceiverRequest =
  | { readonly ask: 'expect'; readonly events: number; readonly answerDelayMs: number }
  | { readonly ask: 'requests' }
  | { readonly ask: 'total' }

const buffers = new BodyBuffers()
let tally = new Tally(0)
let answerDelayMs = 0

const server = createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 }, (request, response) => {
  if (request.method === 'GET') return answerWithOrganization(request, response)
  const body = buffers.take()
  request.on('data', (chunk: Buffer) => body.add(chunk))
  request.on('end', () => {
    tally.add(encodingOf(request), body.bytes)
    buffers.giveBack(body)
    if (answerDelayMs === 0) answer(request, response)
    else setTimeout(answer, answerDelayMs, request, response)
  })
})

function encodingOf({ headers, url }: IncomingMessage): Encoding {
  const encoding = headers['content-encoding']
  if (encoding === 'gzip' || encoding === 'zstd') return encoding
  // Loki's clients compress protobuf without saying so.
  return url?.startsWith('/loki/') && headers['content-type'] === 'application/x-protobuf' ? 'snappy' : 'none'
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  if (request.url?.startsWith('/loki/')) {
    response.writeHead(204).end()
  } else if (request.url === '/v1/logs') {
    response.writeHead(200, { 'content-type': 'application/x-protobuf', 'content-length': '0' }).end()
  } else {
    const body = '{"failed":0,"failures":[]}'
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(body.length) }).end(body)
  }
}

function answerWithOrganization({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const id = /^\/v2\/orgs\/([^/]+)$/.exec(url)?.[1]
  if (id === undefined) response.writeHead(404).end()
  else response.writeHead(200, { 'content-type': 'application/json' }).end(organizationJson(decodeURIComponent(id)))
}

process.on('message', async (request: ReceiverRequest) => {
  if (request.ask === 'expect') {
    tally = new Tally(request.events)
    answerDelayMs = request.answerDelayMs
    process.send?.({})
  } else if (request.ask === 'requests') {
    process.send?.({ requests: tally.requests })
  } else {
    process.send?.(await tally.total())
  }
})
process.on('disconnect', () => process.exit())

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
