/** Names with several addresses, of which some are dead or distant. */
import type { LookupOptions } from 'node:dns'
import { once } from 'node:events'
import { connect, createServer, getDefaultAutoSelectFamily, type Socket, setDefaultAutoSelectFamily } from 'node:net'
import { MessageChannel, Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { AddressChoice } from '../../src/http/address-choice.ts'
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
    { all }: LookupOptions,
    callback: (error: null, found: unknown, family?: number) => void,
  ) => (all ? setImmediate(callback, null, found) : setImmediate(callback, null, addresses[0], 4))) as never)
}

/** Starts a worker for requests in which every name stands for these addresses. A flag of Node holds for workers, too. */
function startRequestWorker(...addresses: string[]) {
  const { port1, port2 } = new MessageChannel()
  const [replies, end] = [new Int32Array(new SharedArrayBuffer(4)), new Int32Array(new SharedArrayBuffer(4))]
  const lookup = `require('node:dns').lookup = (name, options, callback) =>
    setImmediate(callback, null, ${JSON.stringify(addresses)}.map(address => ({ address, family: 4 })))`
  const flag = `require('node:net').setDefaultAutoSelectFamily(false)`
  const worker = new Worker(`${lookup};${flag};(${runRequestWorker})()`, {
    eval: true,
    workerData: { port: port2, replies, end },
    transferList: [port2],
  })
  const request = async (
    port: number,
    id: number,
    firstAddress?: string,
    host = 'service.test',
  ): Promise<number | string | undefined> => {
    const url = { method: 'POST', origin: `http://${host}:${port}`, path: '/' } as const
    const rest = { headers: {}, tls: undefined, proxyEnv: {}, timeoutMs: 15_000, maxBytes: 1000, firstAddress }
    port1.postMessage({ id, ...url, body: Buffer.from('x'), ...rest } satisfies WorkerRequest)
    const [{ answer, error }] = (await once(port1, 'message')) as [WorkerReply]
    return answer?.status ?? error?.code
  }
  const close = async () => {
    port1.postMessage('end')
    await once(worker, 'exit')
    port1.close()
  }
  /** Makes a request by address, so that the worker has loaded everything before it is timed. */
  const warmUp = (port: number) => request(port, 0, undefined, '127.0.0.1')
  return { request, warmUp, close }
}

/** Starts a server, and a dead address with the same port. */
async function startHalfDead() {
  const good = await startRawServer(socket => socket.end(ok))
  const port = Number(new URL(good.url).port)
  const dead = await startDeafServer(port, '127.0.0.2')
  await dead.block()
  const close = async () => {
    await dead.close()
    await good.close()
  }
  return { port, close }
}

/** Starts a server, and another one on the same port of 127.0.0.2 that does as `onData` says. */
async function startHalfBroken(onData: (socket: Socket) => void) {
  const good = await startRawServer(socket => socket.end(ok))
  const port = Number(new URL(good.url).port)
  const sockets: Socket[] = []
  const broken = createServer(socket => {
    sockets.push(socket.on('error', () => {}))
    socket.on('data', () => onData(socket))
  })
  await once(broken.listen(port, '127.0.0.2'), 'listening')
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await once(broken.close(), 'close')
    await good.close()
  }
  return { port, close }
}

/** Node gives a dead address 250 ms, unless it is the last one. */
const patienceMs = 240

async function timed<T>(run: () => Promise<T>): Promise<[result: T, isQuick: boolean]> {
  const startedAtMs = performance.now()
  const result = await run()
  return [result, performance.now() - startedAtMs < patienceMs]
}

function ask(connections: Connections, port: number, timeoutMs = 15_000): Promise<number | string> {
  const request = {
    method: 'POST',
    origin: `http://service.test:${port}`,
    path: '/',
    headers: {},
    body: Buffer.from('x'),
  } as const
  return exchange(connections, request, timeoutMs, never).then(
    answer => answer.status,
    error => error.code ?? error.message,
  )
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe.skipIf(process.platform !== 'linux')('connections to a name with several addresses', () => {
  it('begin with the address that the connection before has reached', async () => {
    const { port, close } = await startHalfDead()
    resolveAllTo('127.0.0.2', '127.0.0.1')
    const connections = new Connections(`http://service.test:${port}`, 1)
    expect(await ask(connections, port)).toBe(200)
    expect(await timed(() => ask(connections, port))).toEqual([200, true])
    await connections.close()
    await close()
  })

  it('begin with the first address of the name service again after a while', async () => {
    const { port, close } = await startHalfDead()
    resolveAllTo('127.0.0.2', '127.0.0.1')
    let nowMs = 0
    const choice = new AddressChoice(() => nowMs)
    const isQuick = async (): Promise<boolean> => {
      const [, isQuick] = await timed(async () => {
        const socket = connect({ host: 'service.test', port, ...choice.options })
        const onAnswer = choice.watch(socket)
        await once(socket, 'connect')
        onAnswer()
        socket.destroy()
      })
      return isQuick
    }
    expect([await isQuick(), await isQuick()]).toEqual([false, true])
    nowMs += 540_000
    expect(await isQuick()).toBe(true) // a use of the address is no reason to keep it longer
    nowMs += 61_000
    expect([await isQuick(), await isQuick()]).toEqual([false, true])
    await close()
  })

  it.each([
    ['closes them', (socket: Socket) => socket.end(), 15_000, 'ECONNRESET'],
    ['answers nothing', () => {}, 50, 'no complete answer within 50 ms'],
  ])('begin with the next address after one that accepts connections and %s', async (_, onData, timeoutMs, error) => {
    const { port, close } = await startHalfBroken(onData)
    resolveAllTo('127.0.0.2', '127.0.0.1')
    const connections = new Connections(`http://service.test:${port}`, 1)
    expect(await ask(connections, port, timeoutMs)).toBe(error)
    expect([await ask(connections, port), await ask(connections, port)]).toEqual([200, 200])
    await connections.close()
    await close()
  })

  it('begin with the next address while the one before answers nothing for 4 seconds', async () => {
    const { port, close } = await startHalfBroken(() => {})
    resolveAllTo('127.0.0.2', '127.0.0.1')
    const connections = new Connections(`http://service.test:${port}`, 2)
    const silent = ask(connections, port, 4500)
    await new Promise(resolve => setTimeout(resolve, 4100))
    expect(await ask(connections, port)).toBe(200)
    expect(await silent).toBe('no complete answer within 4500 ms')
    await connections.close()
    await close()
  })

  it('wait for one lookup, which may take longer than the first of them can wait', async () => {
    const server = await startRawServer(socket => socket.end(ok))
    const port = Number(new URL(server.url).port)
    const answers: ((error: null, found: { address: string; family: number }[]) => void)[] = []
    vi.spyOn(process.getBuiltinModule('node:dns'), 'lookup').mockImplementation(((
      _name: string,
      _options: object,
      callback: (typeof answers)[number],
    ) => answers.push(callback)) as never)
    const connections = new Connections(`http://service.test:${port}`, 2)
    expect(connections.addresses.isLookingUp).toBe(false)
    expect(await ask(connections, port, 50)).toBe('no complete answer within 50 ms')
    expect(connections.addresses.isLookingUp).toBe(true)
    const second = ask(connections, port)
    await new Promise(setImmediate)
    expect(answers).toHaveLength(1)
    answers[0]?.(null, [{ address: '127.0.0.1', family: 4 }])
    expect(await second).toBe(200)
    const third = ask(connections, port)
    while (answers.length < 2) await new Promise(setImmediate)
    answers[1]?.(null, [{ address: '127.0.0.1', family: 4 }])
    expect(await third).toBe(200)
    await connections.close()
    await server.close()
  })

  it('look up again at once after a lookup that throws, as a replaced one may', async () => {
    const server = await startRawServer(socket => socket.end(ok))
    const port = Number(new URL(server.url).port)
    vi.spyOn(process.getBuiltinModule('node:dns'), 'lookup').mockImplementation(() => {
      throw new Error('no names today')
    })
    const connections = new Connections(`http://service.test:${port}`, 1)
    expect(await ask(connections, port)).toBe('no names today')
    resolveAllTo('127.0.0.1')
    expect(await ask(connections, port)).toBe(200)
    await connections.close()
    await server.close()
  })

  it('try every address, also if the application has turned that off', async () => {
    const server = await startRawServer(socket => socket.end(ok))
    const port = Number(new URL(server.url).port)
    resolveAllTo('127.0.0.3', '127.0.0.1') // the first one refuses
    const connections = new Connections(`http://service.test:${port}`, 1)
    const wasOn = getDefaultAutoSelectFamily()
    setDefaultAutoSelectFamily(false)
    try {
      expect(await ask(connections, port)).toBe(200)
    } finally {
      setDefaultAutoSelectFamily(wasOn)
    }
    await connections.close()
    await server.close()
  })

  it('begin with that address at the end of the process, too', async () => {
    const { port, close } = await startHalfDead()
    const taught = startRequestWorker('127.0.0.2', '127.0.0.1')
    await taught.warmUp(port)
    expect(await timed(() => taught.request(port, 1, '127.0.0.1'))).toEqual([200, true])
    await taught.close()
    const untaught = startRequestWorker('127.0.0.2', '127.0.0.1')
    await untaught.warmUp(port)
    expect(await timed(() => untaught.request(port, 1))).toEqual([200, false])
    expect(await timed(() => untaught.request(port, 2))).toEqual([200, true])
    await untaught.close()
    await close()
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
    const worker = startRequestWorker('127.0.0.1', '127.0.0.3')
    const ask = (id: number) => fromAfar(distant, () => worker.request(distant.port, id))
    expect([await ask(1), await ask(2)]).toEqual(['ETIMEDOUT', 200]) // the last address has more time
    await worker.close()
    await distant.close()
  })
})
