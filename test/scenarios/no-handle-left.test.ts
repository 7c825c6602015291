/**
 * A law that only a separate process can show: after `close()`, the shipper leaves nothing open, whatever the trouble.
 */
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { core, environmentFor } from '../exit/running.ts'
import { type FaultServer, startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { runScript } from '../support/run-script.ts'

/**
 * Prints the open resources after `close()`, and shows whether the process then ends by itself. Node does not list
 * sockets that do not keep the process alive, so each socket is noted as it connects.
 */
const source = (options: string) => `${core(options)}
  import { Socket } from 'node:net'
  const sockets = []
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (...args) {
    sockets.push(this)
    return connect.apply(this, args)
  }
  shipper.on('warning', () => {})
  log(0, 1000)
  await shipper.flush({ timeoutMs: 300 })
  const closingAtMs = performance.now()
  await shipper.close({ timeoutMs: 100 })
  const closedWithinMs = performance.now() - closingAtMs
  const pipes = ['PipeWrap', 'TTYWrap']
  const resources = () => process.getActiveResourcesInfo().filter(name => !pipes.includes(name))
  // Canceled work needs some time to report its end.
  for (let wait = 0; wait < 20 && (wait === 0 || resources().length > 0); wait++) {
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  console.log(JSON.stringify({
    resources: resources(),
    isLate: closedWithinMs > 900,
    wereSockets: sockets.length > 0,
    openSockets: sockets.filter(socket => !socket.destroyed).length,
    pending: shipper.stats().pending,
    buffered: shipper.stats().bufferedBytes,
  }))
`

const troubles: Readonly<Record<string, (request: WireRequest) => void>> = {
  none: request => request.isWhole && request.take(),
  'a black hole': () => {},
  'a reset': request => request.socket.resetAndDestroy(),
  'a 503': request => request.isWhole && request.answer('503 Busy'),
  'a Retry-After': request => request.isWhole && request.answer('503 Busy', '', 'retry-after: 100'),
  'a 403': request => request.isWhole && request.answer('403 Forbidden'),
  'an answer that trickles': ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
  'an answer without end': ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nx: y'),
}

const swallow = (socket: Socket) => void socket.on('data', () => {})

async function leftAfter(server: FaultServer, url = server.url, options = ''): Promise<unknown> {
  const { code, stdout, stderr, ms } = await runScript(source(options), environmentFor({ url }))
  expect([code, stderr, ms < 8000]).toEqual([0, '', true])
  return JSON.parse(stdout)
}

const nothing = { resources: [], isLate: false, wereSockets: true, openSockets: 0, pending: 0, buffered: 0 }

describe.concurrent('no handle is left after close(), and the process ends', () => {
  it.each(Object.keys(troubles))('trouble: %s', async trouble => {
    await using server = await startFaultServer(request => troubles[trouble]?.(request))
    expect(await leftAfter(server)).toEqual(nothing)
  })

  it('trouble: no server', async () => {
    const server = await startFaultServer(() => {})
    await server.close()
    expect(await leftAfter(server)).toEqual(nothing)
  })

  it('trouble: a TLS handshake that is never answered', async () => {
    await using server = await startFaultServer(() => {}, { onConnection: swallow })
    expect(await leftAfter(server, server.url.replace('http:', 'https:'))).toEqual(nothing)
  })

  it('trouble: a proxy that never opens a tunnel', async () => {
    await using server = await startFaultServer(() => {}, { onConnection: swallow })
    const options = `proxyEnv: { HTTPS_PROXY: '${server.url}' }`
    expect(await leftAfter(server, 'https://service.example', options)).toEqual(nothing)
  })

  it('trouble: an organization that cannot be read, while limits are on', async () => {
    await using server = await startFaultServer(() => {})
    expect(await leftAfter(server, server.url, `limits: { orgId: 'o', accessToken: 'some-token' }`)).toEqual(nothing)
  })
})
