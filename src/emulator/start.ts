import { once } from 'node:events'
import http, { type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { checkNode } from '../node-version.ts'
import { ownProperties } from '../own-properties.ts'
import { systemTimeMs } from '../time.ts'
import { Connections } from './connections.ts'
import { Emulator } from './emulator.ts'
import type { Extension } from './extension.ts'
import { type EmulatorOptions, type Settings, settingsOf } from './options.ts'
import { pause } from './pause.ts'
import { sendAnswer } from './send-answer.ts'
import { Service } from './service.ts'
import { answerUnreadable } from './unreadable.ts'

/**
 * Starts the service in this process, for tests and local work: a real HTTP server with the ingest and the organization
 * endpoints. The server keeps the process alive until it is closed.
 *
 * @throws TypeError | RangeError if an option is unknown or its value is invalid
 * @throws Error if this Node is too old, or if the server cannot listen on the port
 */
export function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  return startExtended(options)
}

/** Starts the emulator together with another service on the same port. */
export async function startExtended(options: EmulatorOptions, extension?: Extension): Promise<Emulator> {
  checkNode()
  const settings = settingsOf(options)
  const service = new Service(settings, systemTimeMs(), extension)
  const server = createServer(settings, extension?.maxHeaderBytes)
  const connections = new Connections(server)
  answerUnreadable(server)
  server.on('request', (request, response) => {
    // If an answer cannot be written, the connection is closed, so that the client does not wait forever.
    serve(service, connections, request, response, extension).catch(() => request.socket.destroy())
  })
  await listen(server, settings, extension === undefined ? 'the emulator' : 'the service')
  const { port } = server.address() as AddressInfo
  return new Emulator(service, server, connections, { url: urlOf(settings, port), port })
}

async function serve(
  service: Service,
  connections: Connections,
  request: IncomingMessage,
  response: ServerResponse,
  extension: Extension | undefined,
) {
  if (extension?.serve(request, response)) return
  const entry = service.log.open(request)
  extension?.onOpened(entry, request)
  // An ending omits properties that have their default. A property that an application added to `Object.prototype` must
  // not take their place.
  const ending = ownProperties(await service.end({ request, response, entry }))
  const alive = await pause(response, ending.afterMs ?? 0)
  entry.reason = (ending.kind === 'answer' ? ending.reason : 'the connection was reset') ?? ''
  if (!alive) entry.reason = 'the client closed the connection before the answer'
  service.log.ended(entry, alive && ending.kind === 'answer' ? ending.status : undefined)
  extension?.onEnded(entry)
  if (!alive) return
  if (ending.kind === 'reset') {
    connections.reset(request.socket)
    return
  }
  if (ending.thenReset) response.once('finish', () => connections.reset(request.socket))
  await sendAnswer(response, ending)
}

function createServer({ tls }: Settings, maxHeaderSize: number | undefined): Server {
  // By default, Node itself would answer a request without a Host header, and not in JSON.
  const options: ServerOptions = { requireHostHeader: false, ...(maxHeaderSize !== undefined && { maxHeaderSize }) }
  if (!tls) return http.createServer(options)
  try {
    const https = process.getBuiltinModule('node:https') // loaded only now, as loading takes 15 ms
    return https.createServer({ ...options, key: tls.key, cert: tls.cert })
  } catch (cause) {
    throw new RangeError('startEmulator: tls must have a key and its certificate in PEM', { cause })
  }
}

async function listen(server: Server, { host, port }: Settings, subject: string): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    const place = port === 0 ? host : `port ${port} of ${host}`
    throw new Error(`${subject} cannot listen on ${place}: ${listenReasons.get(code) ?? code}`, { cause })
  }
}

const listenReasons: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'the port is in use'],
  ['EADDRNOTAVAIL', 'this machine does not have that address'],
  ['ENOTFOUND', 'no name server knows the host'],
  ['EACCES', 'this user may not use the port'],
])

function urlOf({ tls, host, basePath }: Settings, port: number): string {
  // A server can listen on an address that means "every interface", but a client must connect to a specific one.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = reachable.includes(':') ? `[${reachable}]` : reachable
  return `${tls ? 'https' : 'http'}://${name}:${port}${basePath}`
}
