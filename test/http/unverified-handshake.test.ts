import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { MessageChannel, Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { runRequestWorker, type WorkerRequest } from '../../src/http/request-worker.ts'

const pem = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const server = { key: pem('../emulator/tls/key.pem'), cert: pem('../emulator/tls/cert.pem') }
const otherAuthority = pem('../support/tls/wrong-host.cert.pem')

/**
 * When a connection is made, the thread is busy. It sees what arrives meanwhile in one turn, the order to end first.
 */
const busyOnceConnected = `
  const { Socket } = require('node:net')
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (...args) {
    this.once('connect', () => setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)))
    return connect.apply(this, args)
  }`

/**
 * Returns the bytes that reach a server with another certificate if the thread is told to end before the server
 * answers.
 */
async function heardWhileEnding(start: (url: string) => { worker: Worker; end: () => void }): Promise<string> {
  let heard = ''
  let end = (): void => {}
  const impostor = createTlsServer(server, socket => {
    socket
      .on('error', () => {})
      .on('data', data => {
        heard += data
      })
  }).on('tlsClientError', () => {})
  let connections = 0
  const listener = createServer(socket => {
    connections++
    socket.on('error', () => {})
    setTimeout(() => {
      end()
      setTimeout(() => impostor.emit('connection', socket), 5)
    }, 100)
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const started = start(`https://127.0.0.1:${(listener.address() as AddressInfo).port}`)
  end = started.end
  await once(started.worker, 'exit')
  await new Promise(resolve => setTimeout(resolve, 100)) // time for bytes in transit to arrive
  listener.close()
  expect(connections).toBe(1)
  return heard
}

describe('a thread that ends during a TLS handshake sends nothing to an unverified server', () => {
  it('a worker of the application', async () => {
    const heard = await heardWhileEnding(url => {
      const worker = new Worker(
        `${busyOnceConnected}
        const { parentPort, workerData } = require('node:worker_threads')
        parentPort.on('message', () => process.exit())
        import('logferry').then(({ createShipper }) => {
          createShipper({ baseUrl: workerData.url, token: 'a-token-of-tests', dataset: 'd', tls: { ca: workerData.ca }, maxBatchAgeMs: 1, exitTimeoutMs: 0 })
            .ship({ n: 0 })
        })`,
        { eval: true, stderr: true, workerData: { url, ca: otherAuthority } },
      )
      return { worker, end: () => worker.postMessage('end') }
    })
    expect(heard).toBe('')
  })

  it('the worker that delivers at the end of the process', async () => {
    const heard = await heardWhileEnding(url => {
      const { port1, port2 } = new MessageChannel()
      const worker = new Worker(`${busyOnceConnected};(${runRequestWorker})()`, {
        eval: true,
        workerData: {
          port: port2,
          replies: new Int32Array(new SharedArrayBuffer(4)),
          end: new Int32Array(new SharedArrayBuffer(4)),
        },
        transferList: [port2],
      })
      port1.postMessage({
        id: 1,
        method: 'POST',
        origin: url,
        path: '/',
        headers: { authorization: 'Bearer a-token-of-tests' },
        body: Buffer.from('{"n":0}\n'),
        tls: { ca: [otherAuthority], rejectUnauthorized: true },
        proxyEnv: {},
        timeoutMs: 5000,
        maxBytes: 1000,
      } satisfies WorkerRequest)
      return { worker, end: () => port1.postMessage('end') }
    })
    expect(heard).toBe('')
  })
})
