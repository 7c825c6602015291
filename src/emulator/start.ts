import { once } from 'node:events'
import http, { type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { checkNode } from '../options/node-version.ts'
import { ownProperties } from '../options/own-properties.ts'
import { systemTimeMs } from '../time.ts'
import { Connections } from './connections.ts'
import { Emulator } from './emulator.ts'
import { type EmulatorOptions, type Settings, settingsOf } from './options.ts'
import { pause } from './pause.ts'
import { sendAnswer } from './send-answer.ts'
import { Service } from './service.ts'
import { answerUnreadable } from './unreadable.ts'

/**
 * Starts the service in this process: a real HTTP server with the ingest and the organization endpoints, for tests and
 * local work. It keeps the process alive until it is closed.
 *
 * @throws TypeError | RangeError when an option makes no sense
 * @throws Error when this Node is too old, or the port cannot be listened on
 */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  checkNode()
  const settings = settingsOf(options)
  const service = new Service(settings, systemTimeMs())
  const server = createServer(settings)
  const connections = new Connections(server)
  answerUnreadable(server)
  server.on('request', (request, response) => {
    // Whatever goes wrong while an answer is written, its client must not be left waiting.
    serve(service, connections, request, response).catch(() => request.socket.destroy())
  })
  await listen(server, settings)
  const { port } = server.address() as AddressInfo
  return new Emulator(service, server, connections, { url: urlOf(settings, port), port })
}

async function serve(service: Service, connections: Connections, request: IncomingMessage, response: ServerResponse) {
  const entry = service.log.open(request)
  // Endings leave out what is as usual; what an application has added to `Object.prototype` must not stand in for it.
  const ending = ownProperties(await service.end({ request, response, entry }))
  const alive = await pause(response, ending.afterMs ?? 0)
  service.log.ended(entry, alive && ending.kind === 'answer' ? ending.status : undefined)
  if (!alive) return
  if (ending.kind === 'reset') {
    connections.reset(request.socket)
    return
  }
  if (ending.thenReset) response.once('finish', () => connections.reset(request.socket))
  await sendAnswer(response, ending)
}

function createServer({ tls }: Settings): Server {
  // Node would answer a request without a Host header itself, and not in JSON.
  const options: ServerOptions = { requireHostHeader: false }
  if (!tls) return http.createServer(options)
  try {
    return https.createServer({ ...options, key: tls.key, cert: tls.cert })
  } catch (cause) {
    throw new TypeError('tls must hold a key and its certificate in PEM', { cause })
  }
}

async function listen(server: Server, { host, port }: Settings): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const reason = code === 'EADDRINUSE' ? 'the port is in use' : code
    throw new Error(`the emulator cannot listen on port ${port} of ${host}: ${reason}`, { cause })
  }
}

function urlOf({ tls, host, basePath }: Settings, port: number): string {
  // An address that means "every interface" is one to listen on, not one to connect to.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = reachable.includes(':') ? `[${reachable}]` : reachable
  return `${tls ? 'https' : 'http'}://${name}:${port}${basePath}`
}
