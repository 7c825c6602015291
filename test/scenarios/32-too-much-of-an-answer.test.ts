import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { startEmulator } from '../../src/emulator.ts'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'

/** What is read, and what the buffers of two sockets take. */
const maxBytes = 16 * 1_048_576

/** Writes without end, as fast as the client reads. */
function flood({ socket }: WireRequest, head: string, piece: string, onWritten: (bytes: number) => void): void {
  socket.write(head)
  const pump = (): void => {
    while (!socket.destroyed && socket.write(piece)) onWritten(piece.length)
    onWritten(piece.length)
  }
  socket.on('drain', pump)
  pump()
}

describe.concurrent('scenario 32: an endless answer is read up to a limit, and its connection is closed', () => {
  it.each([
    ['a body of 1 GB', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n', '{'.repeat(65_536), true],
    [
      'a body of chunks',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      `8000\r\n${'x'.repeat(32_768)}\r\n`,
      true,
    ],
    ['a body until the end of the connection', 'HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(65_536), true],
    ['headers', 'HTTP/1.1 200 OK\r\n', `x-${'a'.repeat(100)}: ${'y'.repeat(1000)}\r\n`, false],
    ['one header', 'HTTP/1.1 200 OK\r\nx: ', 'y'.repeat(65_536), false],
    ['a first line', 'HTTP/1.1 200 ', 'O'.repeat(65_536), false],
    ['interim answers', '', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', false],
    ['trailers', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n', `t: ${'y'.repeat(1000)}\r\n`, true],
  ])('%s', async (_, head, piece, isStored) => {
    let written = 0
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index > 0) return request.take()
      if (isStored) request.store()
      flood(request, head, piece, bytes => {
        written += bytes
      })
    })
    await using logs = watched({ baseUrl: server.url, requestTimeoutMs: 1000, maxRetryDelayMs: 20 })
    logs.log(0, 10)
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    expect(server.numbers).toHaveLength(10)
    expect(server.requestCount).toBe(isStored ? 1 : 2)
    expect(written).toBeLessThan(maxBytes)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    await server.whenDeserted()
  })
})

// The following tests run one after the other, because they measure the memory of the process.
describe('scenario 32: an answer in pieces of one byte', () => {
  it('takes no more memory than one in large pieces', async () => {
    let maxBytes = 0
    const pieces = '1\r\nx\r\n'.repeat(5000)
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      flood(request, 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', pieces, () => {
        maxBytes = Math.max(maxBytes, process.memoryUsage().heapUsed)
      })
    })
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 2000) // a megabyte of their answer is read
    const before = process.memoryUsage().heapUsed
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    expect(maxBytes - before).toBeLessThan(2 ** 27)
    expect(logs.stats()).toMatchObject({ delivered: 2000, requests: 1 })
  })
})

describe('scenario 32: a gzip bomb', () => {
  it('in an answer is decompressed up to a limit', async () => {
    const bomb = gzipSync(Buffer.alloc(2 ** 26))
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      request.store()
      request.answer('200 OK', bomb, 'content-encoding: gzip', 'content-type: application/json')
    })
    await using logs = watched({ baseUrl: server.url })
    const before = process.memoryUsage().arrayBuffers
    logs.log(0)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 25)
    expect(server.numbers).toEqual([0])
  })

  it('sent to the emulator is decompressed up to a limit', async () => {
    const bomb = gzipSync(Buffer.alloc(2 ** 28))
    await using emulator = await startEmulator({ maxDecodedBytes: 2 ** 20 })
    const before = process.memoryUsage().arrayBuffers
    const response = await fetch(`${emulator.url}/v1/datasets/d/ingest`, {
      method: 'POST',
      body: bomb,
      headers: {
        authorization: `Bearer ${emulator.token}`,
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
      },
    })
    expect(response.status).toBe(413)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 25)
    expect(emulator.eventCount('d')).toBe(0)
  })
})
