/** Names with several addresses, of which some are dead or distant. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { MessageChannel, Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Connections } from '../../src/http/connections.ts'
import { exchange } from '../../src/http/exchange.ts'
import { runRequestWorker, type WorkerReply, type WorkerRequest } from '../../src/http/request-worker.ts'
import { startRawServer } from '../support/raw-server.ts'

const ok = 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'
const never = new AbortController().signal

/**
 * A server that accepts no connection while it is blocked. Its queue is full then, so that packets to it vanish. The
 * client's system repeats the first packet of a connection after one second.
 */
async function startDeafServer(port = 0, host = '127.0.0.1') {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads')
    const server = require('node:net').createServer(socket => {
      socket.on('error', () => {}).on('data', () => socket.end(${JSON.stringify(ok)}))
    })
    parentPort.on('message', () => {
      Atomics.store(workerData.gate, 0, 0)
      parentPort.postMessage('blocked')
      Atomics.wait(workerData.gate, 0, 0)
    })
    server.listen({ ...workerData, backlog: 1 }, () => parentPort.postMessage(server.address().port))`,
    { eval: true, workerData: { gate, port, host } },
  )
  const [listening] = await once(worker, 'message')
  const fillers: Socket[] = []
  const block = async (): Promise<void> => {
    worker.postMessage('block')
    await once(worker, 'message')
    for (let isFull = false; !isFull; ) {
      const filler = connect(listening, host).on('error', () => {})
      fillers.push(filler)
      isFull = !(await Promise.race([once(filler, 'connect'), new Promise(resolve => setTimeout(resolve, 100))]))
    }
  }
  const unblock = (): void => {
    for (const filler of fillers.splice(0)) filler.destroy()
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
  }
  const close = () => {
    unblock()
    return worker.terminate()
  }
  return { port: listening as number, block, unblock, close }
}

/** Runs a request while the server is deaf, but for the second packet of a connection that still waits then. */
async function fromAfar<T>(server: Awaited<ReturnType<typeof startDeafServer>>, request: () => Promise<T>): Promise<T> {
  await server.block()
  const timer = setTimeout(server.unblock, 700)
  try {
    return await request()
  } finally {
    clearTimeout(timer)
    server.unblock()
  }
}

/** Lets every name stand for these addresses. */
function resolveAllTo(...addresses: string[]): void {
  const found = addresses.map(address => ({ address, family: 4 }))
  vi.spyOn(process.getBuiltinModule('node:dns'), 'lookup').mockImplementation(((
    _name: string,
    _options: object,
    callback: (error: null, found: object) => void,
  ) => setImmediate(callback, null, found)) as never)
}

function ask(connections: Connections, port: number): Promise<number | string> {
  const request = {
    method: 'POST',
    origin: `http://service.test:${port}`,
    path: '/',
    headers: {},
    body: Buffer.from('x'),
  } as const
  return exchange(connections, request, 15_000, never).then(
    answer => answer.status,
    error => error.code,
  )
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe.skipIf(process.platform !== 'linux')('connections to a name with several addresses', () => {
  it('begin with the address that the connection before has reached', async () => {
    const good = await startRawServer(socket => socket.end(ok))
    const port = Number(new URL(good.url).port)
    const dead = await startDeafServer(port, '127.0.0.2')
    await dead.block()
    resolveAllTo('127.0.0.2', '127.0.0.1')
    const connections = new Connections(`http://service.test:${port}`, 1)
    expect(await ask(connections, port)).toBe(200)
    const startedAtMs = performance.now()
    expect(await ask(connections, port)).toBe(200)
    expect(performance.now() - startedAtMs).toBeLessThan(240) // Node gives a dead address 250 ms
    await connections.close()
    await dead.close()
    await good.close()
  })

  it('reach an address that needs more than 250 ms, although the last address is dead', async () => {
    const distant = await startDeafServer()
    resolveAllTo('127.0.0.1', '127.0.0.3') // the second one refuses
    const connections = new Connections(`http://service.test:${distant.port}`, 1)
    const request = () => fromAfar(distant, () => ask(connections, distant.port))
    expect(await request()).toBe(200)
    expect(await request()).toBe(200) // Node would give it 250 ms again
    await connections.close()
    await distant.close()
  })

  it('reach such an address at the end of the process', async () => {
    const distant = await startDeafServer()
    const { port1, port2 } = new MessageChannel()
    const [replies, end] = [new Int32Array(new SharedArrayBuffer(4)), new Int32Array(new SharedArrayBuffer(4))]
    const twoAddresses = `require('node:dns').lookup = (name, options, callback) =>
      setImmediate(callback, null, ['127.0.0.1', '127.0.0.3'].map(address => ({ address, family: 4 })))`
    const worker = new Worker(`${twoAddresses};(${runRequestWorker})()`, {
      eval: true,
      workerData: { port: port2, replies, end },
      transferList: [port2],
    })
    const request = async (id: number, attemptMs?: number): Promise<WorkerReply> => {
      const url = { method: 'POST', origin: `http://service.test:${distant.port}`, path: '/' } as const
      const body = Buffer.from('x')
      const rest = { headers: {}, tls: undefined, proxyEnv: {}, timeoutMs: 15_000, maxBytes: 1000, attemptMs }
      port1.postMessage({ id, ...url, body, ...rest } satisfies WorkerRequest)
      const [reply] = await once(port1, 'message')
      return reply
    }
    const answers: (number | string | undefined)[] = []
    for (let id = 1; id <= 4 && answers.at(-1) !== 200; id++) {
      const { answer, error } = await fromAfar(distant, () => request(id))
      answers.push(answer?.status ?? error?.code)
    }
    expect(answers.slice(0, 2)).toEqual(['ETIMEDOUT', 'ETIMEDOUT'])
    expect(answers.at(-1)).toBe(200)
    port1.postMessage('end')
    await once(worker, 'exit')
    port1.close()
    await distant.close()
  })
})
