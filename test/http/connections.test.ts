import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, ClientRequest, get } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { bodyOf } from '../../src/http/answer-body.ts'
import { limitAge } from '../../src/http/connection-age.ts'
import { Connections } from '../../src/http/connections.ts'
import { exchange, type Request } from '../../src/http/exchange.ts'
import { startRawServer } from '../support/raw-server.ts'

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const tlsFiles = new URL('../emulator/tls/', import.meta.url)
const certificate = readFileSync(new URL('cert.pem', tlsFiles), 'utf8')
const never = new AbortController().signal

const post = (url: string, body: string | Uint8Array = 'x'): Request => {
  return { method: 'POST', origin: new URL(url).origin, path: '/p', headers: {}, body: Buffer.from(body) }
}

const ask = async (connections: Connections, request: Request, timeoutMs = 5000) => {
  const answer = await exchange(connections, request, timeoutMs, never)
  return { ...answer, body: bodyOf(answer).text }
}

/** A server that answers while this thread is blocked. */
async function startBusyServer() {
  const worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads')
    const server = require('node:https').createServer(workerData, (request, response) => {
      request.resume().on('end', () => response.end('ok'))
    })
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`,
    { eval: true, workerData: { cert: certificate, key: readFileSync(new URL('key.pem', tlsFiles), 'utf8') } },
  )
  const [port] = await once(worker, 'message')
  return { url: `https://localhost:${port}`, close: () => worker.terminate() }
}

/** A server that answers the first request twice, and none after it over the same connection. */
async function startServerThatAnswersTwice() {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
    let connections = 0
    const server = require('node:net').createServer(socket => {
      const isFirst = ++connections === 1
      const answer = status => socket.write('HTTP/1.1 ' + status + '\\r\\ncontent-length: 0\\r\\n\\r\\n')
      socket.on('error', () => {})
      if (!isFirst) return socket.on('data', () => answer('503 Later'))
      socket.once('data', () => {
        answer('200 OK')
        setTimeout(answer, 10, '200 OK')
      })
    })
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`,
    { eval: true },
  )
  const [port] = await once(worker, 'message')
  return { url: `http://127.0.0.1:${port}`, close: () => worker.terminate() }
}

function blockLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

describe('connections of logferry', () => {
  it('are reused for the next request', async () => {
    const server = await startRawServer(socket => socket.write(ok))
    const connections = new Connections(server.url, 4)
    for (const _ of [1, 2, 3])
      expect(await ask(connections, post(server.url))).toMatchObject({ status: 200, body: 'ok' })
    expect(server.sockets).toHaveLength(1)
    await connections.close()
    await server.close()
  })

  it('are closed with the first answer after their time, however busy they are', async () => {
    const server = await startRawServer(socket => socket.write(ok))
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    limitAge(agent, 100)
    const answers = async (): Promise<number> => {
      const request = get(server.url, { agent })
      const [response] = await once(request, 'response')
      response.resume()
      await once(request, 'close')
      return server.sockets.length
    }
    expect([await answers(), await answers()]).toEqual([1, 1])
    await new Promise(resolve => setTimeout(resolve, 120))
    expect([await answers(), await answers(), await answers()]).toEqual([1, 2, 2])
    agent.destroy()
    await server.close()
  })

  it.each([
    ['200 OK', 100_000],
    ['503 Unavailable', 65_536],
  ])('read of a %s with a body of 5 MB as many bytes as are needed, and the rest of a piece', async (status, bytes) => {
    const body = Buffer.alloc(5_000_000, 'abc')
    const server = await startRawServer(socket => {
      socket.write(`HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n`)
      socket.write(body)
    })
    const connections = new Connections(server.url, 1)
    const answer = await exchange(connections, post(server.url), 5000, never, 100_000)
    expect(answer.cut).toBe('too-long')
    const read = answer.body.length
    expect(read).toBeGreaterThan(bytes)
    expect(read).toBeLessThanOrEqual(bytes + 65_536)
    expect(body.subarray(0, read).equals(answer.body)).toBe(true)
    expect(answer.body.buffer.byteLength).toBe(read) // no memory beyond that
    await connections.close()
    await server.close()
  })

  it('keep no reference to a finished request', async () => {
    const server = await startRawServer(socket => socket.write(ok))
    const connections = new Connections(server.url, 1)
    for (const _ of [1, 2, 3]) await ask(connections, post(server.url))
    await turnOfTheLoop() // the socket returns to the agent
    expect(queryObjects(ClientRequest)).toBe(0)
    await connections.close()
    await server.close()
  })

  it('are limited in number, and further requests wait for one', async () => {
    const waiting: Socket[] = []
    const server = await startRawServer(socket => waiting.push(socket))
    const connections = new Connections(server.url, 2)
    const answers = [1, 2, 3].map(() => ask(connections, post(server.url)))
    while (waiting.length < 2) await new Promise(resolve => setTimeout(resolve, 5))
    expect(server.sockets).toHaveLength(2)
    for (const socket of waiting.splice(0)) socket.write(ok)
    while (waiting.length < 1) await new Promise(resolve => setTimeout(resolve, 5))
    waiting[0]?.write(ok)
    expect(await Promise.all(answers)).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }])
    expect(server.sockets).toHaveLength(2)
    await connections.close()
    await server.close()
  })

  it.each(['resets', 'closes'])(
    'a reused connection that the server %s: the request is made on another one',
    async how => {
      const server = await startRawServer((socket, heard, index) => {
        const isSecond = index === 0 && heard.split('POST').length > 2
        if (!isSecond) return socket.write(ok)
        return how === 'resets' ? socket.resetAndDestroy() : socket.destroy()
      })
      const connections = new Connections(server.url, 1)
      expect(await ask(connections, post(server.url))).toMatchObject({ status: 200 })
      expect(await ask(connections, post(server.url, 'again'))).toMatchObject({ status: 200 })
      expect(server.sockets).toHaveLength(2)
      expect(server.heard[1]).toMatch(/again$/)
      await connections.close()
      await server.close()
    },
  )

  it('a request is repeated once, on a new connection: a server that stores and resets each gets it twice', async () => {
    const server = await startRawServer((socket, heard) => {
      if (heard.includes('poison')) socket.resetAndDestroy()
      else if (server.heard.join('').split('POST').length > 4) for (const open of server.sockets) open.write(ok)
    })
    const connections = new Connections(server.url, 4)
    await Promise.all([1, 2, 3, 4].map(() => ask(connections, post(server.url))))
    await expect(ask(connections, post(server.url, 'poison'))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.heard.filter(heard => heard.includes('poison'))).toHaveLength(2)
    expect(server.sockets).toHaveLength(5)
    await connections.close()
    await server.close()
  })

  it.each(['timer', 'immediate'])(
    'over TLS, an answer belongs to a request sent in a %s, although the event loop was blocked since',
    async by => {
      const server = await startBusyServer()
      const connections = new Connections(server.url, 1, { tls: { ca: [certificate] } })
      for (const _ of Array.from({ length: 4 })) {
        const { promise, resolve } = Promise.withResolvers<{ status: number }>()
        const send = () => {
          resolve(ask(connections, post(server.url)))
          process.nextTick(process.nextTick, blockLoop, 20)
        }
        if (by === 'timer') setTimeout(send, 1)
        else setImmediate(send)
        expect(await promise).toMatchObject({ status: 200 })
      }
      await connections.close()
      await server.close()
    },
  )

  it('a second answer to one request is not taken for that to the next one, also after the event loop was blocked', async () => {
    const server = await startServerThatAnswersTwice()
    const connections = new Connections(server.url, 1)
    expect(await ask(connections, post(server.url))).toMatchObject({ status: 200 })
    blockLoop(50)
    expect(await ask(connections, post(server.url), 1000)).toMatchObject({ status: 503 })
    await connections.close()
    await server.close()
  })

  it('a request that is aborted before it starts over a kept connection is not made', async () => {
    const server = await startRawServer(socket => socket.write(ok))
    const connections = new Connections(server.url, 1)
    await ask(connections, post(server.url))
    await new Promise(resolve => setTimeout(resolve, 10))
    const abort = new AbortController()
    const asked = exchange(connections, post(server.url, 'aborted'), 5000, abort.signal)
    abort.abort()
    await expect(asked).rejects.toThrow('aborted')
    await connections.close()
    expect(server.heard).toEqual([expect.not.stringContaining('aborted')])
    await server.close()
  })

  it('a reset of a new connection is reported as an error', async () => {
    const server = await startRawServer(socket => socket.resetAndDestroy())
    const connections = new Connections(server.url, 1)
    await expect(ask(connections, post(server.url))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(server.sockets).toHaveLength(1)
    await connections.close()
    await server.close()
  })

  it('a reused connection that breaks after the status: the status counts', async () => {
    const server = await startRawServer((socket, heard) => {
      if (heard.split('POST').length === 2) socket.write(ok)
      else socket.write('HTTP/1.1 503 No\r\ncontent-length: 9\r\n\r\nsor', () => socket.destroy())
    })
    const connections = new Connections(server.url, 1)
    await ask(connections, post(server.url))
    expect(await ask(connections, post(server.url))).toMatchObject({ status: 503, body: 'sor', cut: 'interrupted' })
    expect(server.sockets).toHaveLength(1)
    await connections.close()
    await server.close()
  })

  it('an answer during the request body ends the request and its connection', async () => {
    const large = Buffer.alloc(64_000_000)
    const server = await startRawServer((socket, _, index) => {
      if (index === 0) socket.pause()
      socket.write(index === 0 ? 'HTTP/1.1 413 No\r\ncontent-length: 2\r\n\r\nno' : ok)
    })
    const connections = new Connections(server.url, 1)
    expect(await ask(connections, post(server.url, large))).toMatchObject({ status: 413, body: 'no' })
    expect(await ask(connections, post(server.url))).toMatchObject({ status: 200 })
    expect(server.sockets).toHaveLength(2)
    await connections.close()
    await server.close()
  })

  it('an abandoned request is not repeated', async () => {
    const server = await startRawServer((socket, heard) => {
      if (heard.split('POST').length === 2) socket.write(ok)
    })
    const connections = new Connections(server.url, 1)
    await ask(connections, post(server.url))
    await expect(ask(connections, post(server.url), 50)).rejects.toThrow('no complete answer within 50 ms')
    expect(server.sockets).toHaveLength(1)
    await connections.close()
    await server.close()
  })

  it('close() ends idle connections at once, and busy ones after their answer', async () => {
    const server = await startRawServer((socket, heard) => {
      if (!heard.includes('slow')) socket.write(ok)
    })
    const connections = new Connections(server.url, 2)
    const slow = ask(connections, post(server.url, 'slow'))
    await ask(connections, post(server.url))
    const idle = server.sockets.find((_, index) => !server.heard[index]?.includes('slow')) as Socket
    const busy = server.sockets.find(socket => socket !== idle) as Socket
    const closed = connections.close()
    if (!idle.closed) await once(idle, 'close')
    expect(busy.destroyed).toBe(false)
    busy.write(ok)
    expect(await slow).toMatchObject({ status: 200 })
    await closed
    if (!busy.closed) await once(busy, 'close')
    await server.close()
  })

  it('a missing answer is reported', async () => {
    const server = await startRawServer(socket => socket.end())
    const connections = new Connections(server.url, 1)
    await expect(ask(connections, post(server.url))).rejects.toThrow('socket hang up')
    await connections.close()
    await server.close()
  })
})
