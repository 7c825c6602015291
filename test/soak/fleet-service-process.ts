/**
 * The service of the fleet scenarios, in a process of its own. One limit holds for all requests, in windows of one
 * second that begin with the seconds of the clock. fleet-service.ts starts it, and talks to it over IPC.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type Arrival, SeenNumbers } from './fleet-arrivals.ts'
import type { ServiceOrder, ServiceReply, ServiceSettings } from './fleet-service.ts'

/** Time that the service takes for an answer, in milliseconds. */
const latencyMs = 10

let settings = JSON.parse(process.env.FLEET_SERVICE as string) as ServiceSettings
let second = 0
/** Requests accepted in the present second. */
let admitted = 0
const arrivals: Arrival[] = []
const seen = new Map<string, SeenNumbers>()
const loopResolutionMs = 10
const loopDelay = monitorEventLoopDelay({ resolution: loopResolutionMs })
loopDelay.enable()

const server = createServer((request, response) => {
  void answer(request, response)
})
server.keepAliveTimeout = 65_000 // the usual setting of gateways
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  reply({ kind: 'listening', url: `http://127.0.0.1:${port}` })
})

process.on('message', (order: ServiceOrder) => {
  if (order.kind === 'change') {
    settings = { ...settings, ...order.settings }
    return reply({ kind: 'changed' })
  }
  reply({
    kind: 'report',
    arrivals,
    numbers: Object.fromEntries([...seen].map(([name, { distinct, twice }]) => [name, { distinct, twice }])),
    lateMs: Math.max(loopDelay.percentile(99) / 1e6 - loopResolutionMs, 0),
  })
})
process.on('disconnect', () => process.exit())

function reply(message: ServiceReply): void {
  process.send?.(message)
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const atMs = Date.now()
  const isAccepted = admit(atMs)
  const headers = { 'content-type': 'application/json', ...limitHeaders(atMs) }
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request) chunks.push(chunk)
  } catch {
    return // the client is gone
  }
  const kind = request.method === 'GET' ? 'read' : 'ingest'
  const name = kind === 'read' ? readerOf(request) : datasetOf(request)
  const body = Buffer.concat(chunks).toString()
  const oldestAtMs = isAccepted && kind === 'ingest' ? take(name, body) : undefined
  const oldestAgeMs = oldestAtMs === undefined ? undefined : atMs - oldestAtMs
  arrivals.push({ atMs, process: name, kind, isAccepted, oldestAgeMs })
  setTimeout(() => {
    if (!isAccepted) response.writeHead(429, { ...headers, 'retry-after': '1' }).end('{"message":"too many requests"}')
    else if (kind === 'read') response.writeHead(200, headers).end(JSON.stringify(organization()))
    else response.writeHead(200, headers).end('{"failed":0}')
  }, latencyMs)
}

function admit(nowMs: number): boolean {
  const nowSecond = Math.floor(nowMs / 1000)
  if (nowSecond !== second) {
    second = nowSecond
    admitted = 0
  }
  if (settings.isRefusingAll || admitted >= settings.enforcedPerSecond) return false
  admitted++
  return true
}

function limitHeaders(nowMs: number): Record<string, string> {
  const { headerPerSecond, enforcedPerSecond, isRefusingAll } = settings
  if (headerPerSecond === undefined) return {}
  return {
    'x-ratelimit-limit': String(headerPerSecond),
    'x-ratelimit-remaining': String(isRefusingAll ? 0 : Math.max(enforcedPerSecond - admitted, 0)),
    'x-ratelimit-reset': String(Math.floor(nowMs / 1000) + 1),
  }
}

/** Each process reads the organization with a token of its own. */
function readerOf(request: IncomingMessage): string {
  return String(request.headers.authorization).replace('Bearer reader-', '')
}

/** Each process sends to a dataset of its own. */
function datasetOf(request: IncomingMessage): string {
  return decodeURIComponent(String(request.url).split('/')[3] ?? '')
}

/**
 * Counts the numbered events of a body. Returns the time of the oldest one. Events of the product itself have no
 * number.
 */
function take(name: string, body: string): number | undefined {
  let numbers = seen.get(name)
  if (numbers === undefined) {
    numbers = new SeenNumbers()
    seen.set(name, numbers)
  }
  let oldestAtMs: number | undefined
  for (const line of body.split('\n')) {
    if (line === '') continue
    const { n, at } = JSON.parse(line) as { n?: number; at?: number }
    if (n === undefined || at === undefined) continue
    numbers.add(n)
    oldestAtMs = Math.min(oldestAtMs ?? at, at)
  }
  return oldestAtMs
}

function organization() {
  const now = new Date().toISOString()
  return {
    id: 'fleet-org',
    name: 'fleet',
    lastUsageSync: now,
    paymentStatus: 'success',
    plan: 'enterprise',
    planCreated: now,
    primaryEmail: 'ops@example.com',
    license: { id: 'license', apiRateLimitPerSecond: settings.licensePerSecond },
  }
}
