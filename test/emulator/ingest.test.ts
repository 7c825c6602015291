import type { Socket } from 'node:net'
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { exchangeRaw, jsonOf, post } from './wire.ts'

vi.mock('../../src/time.ts', () => import('../support/time-of-globals.ts'))

const emulator = await startEmulator()
afterAll(() => emulator.close())

const ndjson = 'application/x-ndjson'
let datasets = 0
const freshDataset = () => {
  datasets += 1
  return `dataset-${datasets}`
}

describe('a body is split into its events', () => {
  it.each([
    ['an array', 'application/json', '[{"n":1},{"n":2}]', ['{"n":1}', '{"n":2}']],
    ['an array with white space', 'application/json', ' [ {"n":1} ,\n {"n":2}\r\n]\n', ['{"n":1}', '{"n":2}']],
    ['an array with brackets in strings', 'application/json', '[{"n":"],[\\"}"},{}]', ['{"n":"],[\\"}"}', '{}']],
    ['an empty array', 'application/json', ' [ ] ', []],
    ['a single object', 'application/json', '{"n":[1,{"m":2}]}', ['{"n":[1,{"m":2}]}']],
    ['a charset parameter', 'Application/JSON; charset=utf-8', '[{"n":"ü"}]', ['{"n":"ü"}']],
    ['lines', ndjson, '{"n":1}\n{"n":2}\n', ['{"n":1}', '{"n":2}']],
    ['lines without the last newline', ndjson, '{"n":1}\n{"n":2}', ['{"n":1}', '{"n":2}']],
    [
      'CRLF and blank lines',
      `${ndjson};charset=utf-8`,
      '\r\n{"n":1}\r\n \t\r\n{"n":2}\r\n\r\n',
      ['{"n":1}', '{"n":2}'],
    ],
    ['a single event', ndjson, '{"n":1}', ['{"n":1}']],
    ['a single event over several lines', ndjson, '\n{\n  "n": {\n "m": 1 }\n}\n', ['{\n  "n": {\n "m": 1 }\n}']],
    ['nothing', ndjson, '\n', []],
  ])('%s', async (_, type, body, lines) => {
    const dataset = freshDataset()
    const response = await post(emulator, { dataset, type, body })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ ingested: lines.length, failed: 0, failures: [] })
    expect(emulator.lines(dataset)).toEqual(lines)
    expect(emulator.events(dataset)).toEqual(lines.map(line => JSON.parse(line)))
  })
})

describe('a malformed body is refused as a whole, and the answer names the place', () => {
  it.each([
    ['application/json', '', 'malformed JSON at line 1, column 1 of the body'],
    ['application/json', '[{"n":1},\n{"n":x}]', 'malformed JSON at line 2, column 6 of the body'],
    ['application/json', '[{"n":1},\n\n{"n":2}', 'malformed JSON at line 3, column 8 of the body'],
    ['application/json', '[{"n":1},,{}]', 'malformed JSON at line 1, column 10 of the body'],
    ['application/json', '[{"n":1}]\n]', 'malformed JSON at line 2, column 1 of the body'],
    ['application/json', '{"n":1}\n{"n":2}', 'malformed JSON at line 2, column 1 of the body'],
    ['application/json', '"text"', 'event 1 of the body (line 1) is a string; each event must be a JSON object'],
    [
      'application/json',
      '[{},\n{},\n[]]',
      'event 3 of the body (line 3) is an array; each event must be a JSON object',
    ],
    ['application/json', '[{},null]', 'event 2 of the body (line 1) is null; each event must be a JSON object'],
    [ndjson, '{"n":1}\n\n{"n":\n', 'malformed JSON at line 3, column 6 of the body'],
    [ndjson, '{"n":1', 'malformed JSON at line 1, column 7 of the body'],
    [ndjson, '{"n":1}\r\n{"n":2}{"n":3}', 'malformed JSON at line 2, column 8 of the body'],
    [ndjson, '{}\n7', 'event 2 of the body (line 2) is a number; each event must be a JSON object'],
    [ndjson, '[{"n":1}]', 'event 1 of the body (line 1) is an array; each event must be a JSON object'],
    [ndjson, Buffer.from('{}\n{"n":"\xff"}', 'latin1'), 'line 2 of the body is not valid UTF-8'],
  ])('%s %j', async (type, body, message) => {
    const dataset = freshDataset()
    const response = await post(emulator, { dataset, type, body })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ code: expect.any(String), message })
    expect(emulator.eventCount(dataset)).toBe(0)
  })
})

describe('the media type must be one of the two', () => {
  it.each([undefined, 'text/plain', 'application/jsonl', ''])('%s is a 415', async type => {
    const response = await post(emulator, { type })
    expect(response.status).toBe(415)
    expect(await response.json()).toEqual({
      code: 'unsupported-media-type',
      message: 'the Content-Type must be application/json or application/x-ndjson',
    })
  })
})

describe('encoded bodies', () => {
  const body = Buffer.from('{"n":1}\n'.repeat(1000))

  it.each([
    ['identity', body],
    ['gzip', gzipSync(body)],
    ['GZIP', gzipSync(body)],
    ['zstd', zstdCompressSync(body)],
    ['deflate', deflateSync(body)],
    ['br', brotliCompressSync(body)],
  ])('%s is decoded', async (encoding, encoded) => {
    const dataset = freshDataset()
    const response = await post(emulator, { dataset, type: ndjson, encoding, body: encoded })
    expect(await response.json()).toMatchObject({ ingested: 1000, processedBytes: body.length })
    expect(emulator.requests().at(-1)).toMatchObject({
      contentEncoding: encoding,
      wireBytes: encoded.length,
      decodedBytes: body.length,
      eventCount: 1000,
    })
  })

  it('zstd is decoded with the empty frame that Node appends to bodies of a multiple of 16 KiB', async () => {
    const dataset = freshDataset()
    const encoded = Buffer.concat([zstdCompressSync(body), zstdCompressSync(Buffer.alloc(0))])
    const response = await post(emulator, { dataset, type: ndjson, encoding: 'zstd', body: encoded })
    expect(await response.json()).toMatchObject({ ingested: 1000, processedBytes: body.length })
  })

  it.each([
    ['gzip that is not gzip', 'gzip', body],
    ['gzip cut short', 'gzip', gzipSync(body).subarray(0, -5)],
    ['gzip followed by something else', 'gzip', Buffer.concat([gzipSync(body), body])],
    ['zstd that is not zstd', 'zstd', body],
    ['zstd cut short', 'zstd', zstdCompressSync(body).subarray(0, -5)],
    ['zstd followed by something else', 'zstd', Buffer.concat([zstdCompressSync(body), body])],
    ['zstd in two frames', 'zstd', Buffer.concat([zstdCompressSync(body), zstdCompressSync(body)])],
    ['zstd of nothing', 'zstd', Buffer.alloc(0)],
  ])('%s is a 400', async (_, encoding, encoded) => {
    const response = await post(emulator, { type: ndjson, encoding, body: encoded })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: 'undecodable-body' })
  })

  it.each(['compress', 'gzip, zstd', 'constructor'])('%s is a 415', async encoding => {
    const response = await post(emulator, { encoding })
    expect(response.status).toBe(415)
    expect(await response.json()).toMatchObject({ code: 'unsupported-encoding' })
  })
})

it('answers in the form that clients of the public service read', async () => {
  const response = await post(emulator, { dataset: freshDataset(), body: [{ _time: '2026-11-20T10:00:00Z', n: 1 }] })
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.json()).toEqual({
    ingested: 1,
    failed: 0,
    failures: [],
    processedBytes: expect.any(Number),
    blocksCreated: 0,
    walLength: expect.any(Number),
  })
})

it('adds nothing to an event that has no _time, and keeps __proto__ as a field of its own', async () => {
  const dataset = freshDataset()
  await post(emulator, { dataset, type: ndjson, body: '{"__proto__":{"polluted":true},"constructor":1}' })
  const [event] = emulator.events(dataset)
  expect(Object.keys(event ?? {})).toEqual(['__proto__', 'constructor'])
  expect(Object.getPrototypeOf(event)).toBe(Object.prototype)
  expect('polluted' in {}).toBe(false)
})

it('lines() keeps digits that a JavaScript number would lose', async () => {
  const dataset = freshDataset()
  await post(emulator, { dataset, body: '[{"n":12345678901234567890.0}]' })
  expect(emulator.lines(dataset)).toEqual(['{"n":12345678901234567890.0}'])
})

describe('a body over a limit is a 413, and the emulator keeps running', () => {
  const MiB = 1024 * 1024

  it.each([
    ['declared longer than maxRequestBytes', { maxRequestBytes: 1000 }, undefined, Buffer.alloc(2 * MiB, ' ')],
    ['a gzip bomb', { maxDecodedBytes: MiB }, 'gzip', gzipSync(Buffer.alloc(200 * MiB))],
    ['a zstd bomb', { maxDecodedBytes: MiB }, 'zstd', zstdCompressSync(Buffer.alloc(200 * MiB))],
  ])('%s', async (_, options, encoding, body) => {
    await using small = await startEmulator(options)
    const before = process.memoryUsage().arrayBuffers
    const response = await post(small, { type: ndjson, body, ...(encoding && { encoding }) })
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ code: 'body-too-large' })
    expect(small.requests()[0]?.decodedBytes).toBeLessThan(1.1 * MiB)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30 * MiB)
    expect((await post(small)).status).toBe(200)
  })

  it('chunk by chunk, without a declared length', async () => {
    await using small = await startEmulator({ maxRequestBytes: 100_000 })
    const endless = new ReadableStream({
      pull: controller => {
        controller.enqueue(Buffer.alloc(50_000, ' '))
        if (small.requests().some(request => request.status)) controller.close()
      },
    })
    const response = await fetch(`${small.url}/v1/datasets/a/ingest`, {
      method: 'POST',
      headers: { authorization: `Bearer ${small.token}`, 'content-type': ndjson },
      body: endless,
      duplex: 'half',
    } as RequestInit)
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ message: 'a body may have up to 100000 bytes' })
  })

  /** Sends chunks for as long as the server takes them, and reads nothing before. */
  const sendChunks = async (own: Emulator, socket: Socket, connection: string, chunks: number): Promise<void> => {
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, ' '), Buffer.from('\r\n')])
    socket.pause()
    socket.write(
      `POST /v1/datasets/a/ingest HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${own.token}\r\n` +
        `Content-Type: ${ndjson}\r\nTransfer-Encoding: chunked\r\nConnection: ${connection}\r\n\r\n`,
    )
    for (let sent = 0; sent < chunks && !socket.destroyed; sent++) {
      await new Promise(resolve => socket.write(chunk, resolve))
    }
    socket.end('0\r\n\r\n')
    socket.resume()
  }

  it.each(['keep-alive', 'close'])(
    'to a client that reads after sending everything (connection: %s)',
    async connection => {
      await using small = await startEmulator({ maxRequestBytes: 100_000 })
      const answer = await exchangeRaw(small, socket => void sendChunks(small, socket, connection, 300))
      expect(answer).toMatch(/^HTTP\/1.1 413 /)
      expect(jsonOf(answer)).toMatchObject({ message: 'a body may have up to 100000 bytes' })
    },
  )

  it('with a client that is cut off if it keeps sending for ten seconds', async () => {
    const { timeout } = AbortSignal
    const hurried = vi.spyOn(AbortSignal, 'timeout').mockImplementation(ms => timeout(ms / 100))
    await using small = await startEmulator({ maxRequestBytes: 100_000 })
    await exchangeRaw(small, socket => void sendChunks(small, socket, 'keep-alive', Number.POSITIVE_INFINITY))
    expect(hurried).toHaveBeenCalledWith(10_000)
    expect(small.requests()[0]?.status).toBe(413)
    hurried.mockRestore()
  })
})

it('refuses a zstd frame that asks for more memory than HTTP allows', async () => {
  const body = zstdCompressSync(Buffer.alloc(20_000_000, 'abc'), {
    params: { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 },
  })
  const response = await post(emulator, { type: ndjson, encoding: 'zstd', body })
  expect(await response.json()).toMatchObject({ code: 'undecodable-body' })
})
