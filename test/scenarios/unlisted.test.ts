/** Faults of servers, proxies and networks that the list of scenarios does not name. */
import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'
import { until } from '../support/until.ts'

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
const pem = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const loopback = { key: pem('../emulator/tls/key.pem'), cert: pem('../emulator/tls/cert.pem') }

/** Writes a text one byte at a time, each byte in its own packet. */
function bytewise(socket: Socket, text: string): void {
  const bytes = Buffer.from(text)
  let sent = 0
  const next = (): void => {
    if (sent < bytes.length && !socket.destroyed) socket.write(bytes.subarray(sent, ++sent), () => setImmediate(next))
  }
  next()
}

/** Ships 300 events in three batches to a server that applies a fault to the first requests, and accepts the others. */
async function shipThrough(fault: (request: WireRequest) => void, faults = 1, options = {}) {
  await using server = await startFaultServer(request => {
    if (request.index < faults) fault(request)
    else if (request.isWhole) request.take()
  })
  await using logs = watched({ baseUrl: server.url, maxBatchEvents: 100, maxRetryDelayMs: 20, ...options })
  logs.log(0, 300, { text: 'x'.repeat(100) })
  const { complete } = await logs.close()
  await server.whenDeserted()
  const { delivered, dropped, requests } = logs.stats()
  return { complete, ...tally(server.numbers, 300), delivered, dropped, requests, warnings: logs.warnings }
}

const whole = (then: (request: WireRequest) => void) => (request: WireRequest) => {
  if (request.isWhole) then(request)
}

describe.concurrent('unusual forms of success', () => {
  it.each<[string, (request: WireRequest) => void]>([
    ['HTTP/1.0', ({ socket }) => socket.end('HTTP/1.0 200 OK\r\n\r\nfine')],
    [
      'HTTP/1.0 with keep-alive',
      ({ socket }) => socket.write('HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n'),
    ],
    ['Connection: close', request => request.answer('200 OK', 'x', 'connection: close')],
    [
      'Connection: close, and a close',
      request => {
        request.answer('200 OK', '{}', 'connection: close')
        request.socket.end()
      },
    ],
    ['a byte at a time', ({ socket }) => bytewise(socket, ok)],
    [
      'in chunks, with a trailer',
      ({ socket }) =>
        socket.write(
          'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2;ext=1\r\n{}\r\n0\r\nx-sum: 1\r\n\r\n',
        ),
    ],
    [
      '102 and 103 before it',
      ({ socket }) =>
        socket.write(`HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok}`),
    ],
    ['201', request => request.answer('201 Created', '{}')],
    ['202', request => request.answer('202 Accepted')],
    ['204', ({ socket }) => socket.write('HTTP/1.1 204 No Content\r\n\r\n')],
    ['205', request => request.answer('205 Reset Content')],
    ['206', request => request.answer('206 Partial Content', 'abc', 'content-range: bytes 0-2/9')],
    ['299', request => request.answer('299 Whatever')],
    ['no reason phrase', ({ socket }) => socket.write('HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n')],
    ['a body that ends with the connection', ({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\n{"ingested": 100}')],
    [
      'a body shorter than announced, and a close',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"inges'),
    ],
    [
      'a body shorter than announced, and a reset',
      ({ socket }) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"inges', () =>
          setTimeout(() => socket.resetAndDestroy(), 50),
        ),
    ],
    [
      'chunks that break off',
      ({ socket }) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"in'),
    ],
    ['invalid chunks', ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n')],
    ['the same answer twice', ({ socket }) => socket.write(ok + ok)],
    [
      'an answer longer than announced',
      request => request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{} and more'),
    ],
    [
      'cookies, and a header 200 times over',
      request => request.answer('200 OK', '', ...Array(200).fill('set-cookie: a=b')),
    ],
    [
      'a content encoding that it does not have',
      request => request.answer('200 OK', 'plain', 'content-encoding: br, gzip'),
    ],
    ['the server half closed before it', ({ socket }) => socket.end(ok)],
  ])('%s: delivered, once', async (_, answer) => {
    const result = await shipThrough(
      whole(request => {
        request.store()
        answer(request)
      }),
      2,
    )
    expect(result).toMatchObject({ complete: true, ...allOnce, delivered: 300, dropped: 0, requests: 3, warnings: [] })
  })
})

describe.concurrent('invalid answers', () => {
  it.each<[string, (request: WireRequest) => void]>([
    [
      'two lengths that differ',
      ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 9\r\n\r\n'),
    ],
    ['a length below zero', ({ socket }) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n')],
    [
      'a length and chunks',
      ({ socket }) =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
    ],
    ['no HTTP', ({ socket }) => socket.write('SSH-2.0-OpenSSH_9.2\r\n')],
    ['HTTP/2', ({ socket }) => socket.write(Buffer.from('0000120400000000000003000000640004000f0000', 'hex'))],
    ['TLS', ({ socket }) => socket.write(Buffer.from('15030100020246', 'hex'))],
    ['bytes that are zero', ({ socket }) => socket.write(Buffer.alloc(1000))],
    ['a status of two digits', ({ socket }) => socket.write('HTTP/1.1 20 OK\r\n\r\n')],
    ['a status of four digits', ({ socket }) => socket.write('HTTP/1.1 2000 OK\r\n\r\n')],
    ['a header with a NUL', ({ socket }) => socket.write('HTTP/1.1 200 OK\r\nx: a\u0000b\r\n\r\n')],
    ['only an interim answer', ({ socket }) => socket.end('HTTP/1.1 100 Continue\r\n\r\n')],
    [
      '101, as if we had asked',
      ({ socket }) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    ],
    ['a line break alone', ({ socket }) => socket.end('\r\n')],
  ])('%s: sent again, each event arrives once', async (_, answer) => {
    const result = await shipThrough(whole(answer), 2, { requestTimeoutMs: 1500 })
    expect(result).toMatchObject({ complete: true, ...allOnce, delivered: 300, dropped: 0, requests: 5 })
  })

  it.each([304, 402, 405, 406, 409, 410, 411, 418, 431, 451])(
    'status %i: held back and probed, no event is lost',
    async status => {
      const result = await shipThrough(whole(request => request.answer(`${status} Odd`)))
      expect(result).toMatchObject({ complete: true, ...allOnce, delivered: 300, dropped: 0 })
      expect(result.warnings).toHaveLength(1)
    },
  )
})

describe.concurrent('an unexpected interim answer', () => {
  it('100 Continue: is ignored, each event arrives once', async () => {
    const result = await shipThrough(
      whole(request => {
        request.store()
        request.socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok}`)
      }),
      2,
    )
    expect(result).toMatchObject({ complete: true, ...allOnce, delivered: 300, dropped: 0 })
  })
})

describe.concurrent('answers before the end of the body', () => {
  it.each<[string, (request: WireRequest) => void]>([
    [
      '503, and it goes on reading',
      request => {
        if (request.body.length === 0) request.answer('503 Busy')
      },
    ],
    [
      '503, and it closes',
      request => {
        if (request.body.length === 0) {
          request.answer('503 Busy', '', 'connection: close')
          request.socket.end()
        }
      },
    ],
    [
      '429, and it resets',
      request => {
        if (request.body.length === 0) {
          request.answer('429 Slow down')
          request.socket.resetAndDestroy()
        }
      },
    ],
  ])('%s: sent again, each event arrives once', async (_, fault) => {
    const result = await shipThrough(fault, 1, { compression: 'none', maxConcurrentRequests: 1, maxBatchEvents: 300 })
    expect(result).toMatchObject({ complete: true, ...allOnce, delivered: 300, dropped: 0 })
  })
})

describe.concurrent('connections', () => {
  it('unexpected bytes on an idle connection: invisible to the application', async () => {
    await using server = await startFaultServer(
      whole(request => {
        request.take()
        setTimeout(() => request.socket.write(ok), 10)
      }),
    )
    await using logs = watched({ baseUrl: server.url, maxRetryDelayMs: 20 })
    for (let n = 0; n < 5; n++) {
      logs.log(n)
      expect(await logs.flush()).toMatchObject({ complete: true })
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    expect(tally(server.numbers, 5)).toEqual(allOnce)
    expect(logs.warnings).toEqual([])
  })

  it('200 before the events were sent: not an answer to them, so they are sent again', async () => {
    await using server = await startFaultServer(request => {
      if (request.index > 0) return request.isWhole && request.take()
      request.answer('200 OK')
      request.socket.pause()
    })
    await using logs = watched({
      baseUrl: server.url,
      compression: 'none',
      maxBatchBytes: 8_388_608,
      maxRetryDelayMs: 20,
    })
    logs.log(0, 7500, { text: 'x'.repeat(1000) })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 7500)).toEqual(allOnce)
  })

  it('refused while the port is closed, and then accepted: each event arrives once', async () => {
    const before = await startFaultServer(() => {})
    await before.close()
    await using logs = watched({ baseUrl: before.url, maxRetryDelayMs: 50 })
    logs.log(0, 100)
    expect(await logs.flush(200)).toEqual({ complete: false, pending: 100 })
    expect(logs.warnings.length).toBeLessThanOrEqual(1)
    await using server = await startFaultServer(
      whole(request => request.take()),
      { port: before.port },
    )
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 100)).toEqual(allOnce)
  })

  it('to a name that does not exist: events are kept, reported, and counted at the end', async () => {
    await using logs = watched({ baseUrl: 'https://no-such-host.invalid', maxRetryDelayMs: 20 })
    logs.log(0, 10)
    expect(await logs.flush(300)).toEqual({ complete: false, pending: 10 })
    expect((await logs.whenWarned()).message).toMatch(/ENOTFOUND|EAI_AGAIN/)
    expect(await logs.close(100)).toEqual({ complete: false, pending: 0 })
    expect(logs.stats()).toMatchObject({ dropped: 10 })
  })

  it('over IPv6', async () => {
    await using server = await startFaultServer(
      whole(request => request.take()),
      { host: '::1' },
    )
    await using logs = watched({ baseUrl: server.url })
    logs.log(0, 10)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 10)).toEqual(allOnce)
  })

  it.each<[string, (socket: Socket) => void]>([
    ['reset at the TLS handshake', socket => socket.resetAndDestroy()],
    ['closed at the TLS handshake', socket => socket.end()],
    ['answered in plain text at the TLS handshake', socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('%s: events are kept and reported', async (_, onConnection) => {
    await using server = await startFaultServer(() => {}, { onConnection })
    await using logs = watched({ baseUrl: server.url.replace('http:', 'https:'), maxRetryDelayMs: 20 })
    logs.log(0, 10)
    expect(await logs.flush(300)).toEqual({ complete: false, pending: 10 })
    const { code, message } = await logs.whenWarned()
    expect(code).toBe('LOGFERRY_UNREACHABLE')
    expect(message).not.toContain('\n')
    expect(await logs.close(50)).toEqual({ complete: false, pending: 0 })
    await server.whenDeserted()
  })

  it('reset by a TLS server mid-body: sent again, each event arrives once', async () => {
    await using server = await startFaultServer(
      request => {
        if (request.index < 3 && request.body.length > 500) request.socket.destroy()
        else if (request.isWhole) request.take()
      },
      { tls: loopback },
    )
    const options = { tls: { ca: loopback.cert }, compression: 'none', maxRetryDelayMs: 20 } as const
    await using logs = watched({ baseUrl: server.url, ...options })
    logs.log(0, 1000)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 1000)).toEqual(allOnce)
    await server.whenDeserted()
  })

  it('a TLS handshake without an answer: each attempt ends by the request deadline', async () => {
    const sockets: Socket[] = []
    await using server = await startFaultServer(() => {}, {
      onConnection: socket => void sockets.push(socket.pause()),
    })
    const options = { requestTimeoutMs: 300, maxRetryDelayMs: 20 }
    await using logs = watched({ baseUrl: server.url.replace('http:', 'https:'), ...options })
    logs.log(0, 10)
    expect(await logs.flush(300)).toEqual({ complete: false, pending: 10 })
    await until(() => logs.stats().requests >= 3, 'a third attempt')
    expect(await logs.close(50)).toEqual({ complete: false, pending: 0 })
    for (const socket of sockets) socket.resume() // a paused socket would not report the end of its connection
    await server.whenDeserted()
  })

  it('a server that reads slowly: requests end by the deadline or are accepted, and no event is lost', async () => {
    await using server = await startFaultServer(
      whole(request => request.take()),
      {
        onConnection: (socket, index) => {
          if (index > 1) return
          socket.pause()
          const clock = setInterval(() => socket.read(1), 20)
          setTimeout(() => socket.resume(), 1500) // a paused socket would not report the end of its connection
          socket.on('close', () => clearInterval(clock))
        },
      },
    )
    const options = {
      requestTimeoutMs: 500,
      maxRetryDelayMs: 20,
      compression: 'none',
      maxConcurrentRequests: 2,
    } as const
    await using logs = watched({ baseUrl: server.url, ...options })
    logs.log(0, 5000, { text: 'x'.repeat(1000) })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 5000).lost).toBe(0) // on a busy machine, an accepted request may miss the deadline
    await server.whenDeserted()
  })

  it('a UDP port: refused, and events are kept', async () => {
    const udp = createSocket('udp4')
    await new Promise<void>(resolve => udp.bind(0, '127.0.0.1', resolve))
    await using logs = watched({ baseUrl: `http://127.0.0.1:${udp.address().port}`, maxRetryDelayMs: 20 })
    logs.log(0)
    expect(await logs.flush(200)).toEqual({ complete: false, pending: 1 })
    udp.close()
  })
})

describe.concurrent('one of two gateways that refuses everything', () => {
  it('and keeps its connections costs hardly any event', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      setTimeout(() => (request.connection % 2 ? request.answer('400 Bad Request') : request.take()), 5)
    })
    const dataset = ({ n }: Record<string, unknown>) => `d${Number(n) % 20}`
    await using logs = watched({ baseUrl: server.url, dataset, maxBatchAgeMs: 20 })
    const count = 1000
    for (let n = 0; n < count; n += 4) {
      logs.log(n, n + 4)
      await new Promise(resolve => setTimeout(resolve, 8))
    }
    expect(server.requests.filter(({ connection }) => connection % 2).length).toBeGreaterThan(count / 10)
    expect(logs.rejections.length).toBeLessThan(count / 100)
  })
})

describe.concurrent('a compression that is refused with 400 after it was accepted', () => {
  const long = 'a text that makes an event worth compressing, '.repeat(40)

  /** Ships ten events that are accepted, and then 100 to a gateway that cannot read the compression any more. */
  async function shipPastChange(textOf: (n: number) => string) {
    let isChanged = false
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (isChanged && /content-encoding/i.test(request.head))
        request.answer('400 Bad Request', '{"message":"not JSON"}')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, maxConcurrentRequests: 1 })
    logs.log(0, 10, { text: long })
    await logs.flush()
    isChanged = true
    for (let n = 10; n < 110; n++) logs.log(n, n + 1, { text: textOf(n) })
    expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
    const requestsToLearn = server.requests.length
    logs.log(110, 200, { text: long })
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 200)).toEqual(allOnce)
    expect(logs.stats()).toMatchObject({ delivered: 200, dropped: 0 })
    return { requestsToLearn, requestsThen: server.requests.length - requestsToLearn }
  }

  it.each([
    ['long', () => long],
    ['short', () => ''],
    ['long and short', (n: number) => (n % 2 ? long : '')],
  ])('is not used for long; no event is lost (%s events)', async (_, textOf) => {
    const { requestsToLearn, requestsThen } = await shipPastChange(textOf)
    expect(requestsToLearn).toBeLessThan(50)
    expect(requestsThen).toBeLessThan(10)
  })

  it('makes no event too large that is small enough with it', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      if (request.index === 0) request.answer('400 Bad Request')
      else if (request.body.length > 20_000) request.answer('413 Payload Too Large')
      else request.take()
    })
    await using logs = watched({ baseUrl: server.url, maxConcurrentRequests: 1 })
    logs.log(0, 1, { text: 'x'.repeat(50_000) })
    logs.log(1, 2)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(tally(server.numbers, 2)).toEqual(allOnce)
  })
})

describe.concurrent('memory', () => {
  it('that is full when compressed copies of batches in flight are made never exceeds its limit', async () => {
    await using server = await startFaultServer(() => {})
    const maxBufferedBytes = 4 * 1_048_576
    await using logs = watched({ baseUrl: server.url, maxBufferedBytes, maxBatchBytes: 524_288 })
    for (let n = 0; n < 5000; n++) logs.log(n, n + 1, { level: 'error', text: randomBytes(750).toString('base64') })
    expect(logs.stats().drops.memory?.error).toBeGreaterThan(100)
    await until(() => server.requestCount >= 4, 'requests are under way')
    expect(logs.stats().bufferedBytes).toBeLessThanOrEqual(maxBufferedBytes)
  })

  it('that runs short while bodies are compressed for many connections never exceeds its limit', async () => {
    await using server = await startFaultServer(() => {})
    const maxBufferedBytes = 4 * 1_048_576
    const options = { maxBufferedBytes, maxBatchBytes: 524_288, maxConcurrentRequests: 64, maxBatchAgeMs: 1 }
    await using logs = watched({ baseUrl: server.url, ...options })
    for (let n = 0; n < 20_000; n++) {
      logs.log(n, n + 1, { level: 'error', text: Math.random().toString(36).repeat(30) })
      if (n % 200 === 0) await new Promise(resolve => setTimeout(resolve, 2))
    }
    expect(logs.stats().drops.memory?.error).toBeGreaterThan(1000)
    expect(logs.peakBufferedBytes).toBeLessThanOrEqual(maxBufferedBytes)
  })
})
