import type { IncomingMessage } from 'node:http'
import { PassThrough, type Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import zlib from 'node:zlib'
import { abortAfter } from '../time.ts'
import { type Answer, type Ending, refusal, reset } from './answer.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import type { RequestEntry } from './request-log.ts'

// Not imported by their names: a Node that is too old has not all of them, and is to be told so when an emulator is started.
const { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } = zlib

export interface BodyLimits {
  maxRequestBytes: number
  maxDecodedBytes: number
}

const chunkSize = 64 * 1024

/** How long a client may go on sending a body that nobody wants, in milliseconds. */
const restMs = 10_000

/** What Node appends to a body that it compresses with zstd, where that is a multiple of 16 KiB long: a frame of nothing. */
const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex')

// A zstd frame may ask its reader for a window of up to 2 GiB; in HTTP, 8 MiB is the most it may ask for (RFC 9659).
const zstdWindow = { [constants.ZSTD_d_windowLogMax]: 23 }

const decoders = new Map<string, () => Transform & { bytesWritten?: number }>([
  ['identity', () => new PassThrough()],
  ['gzip', () => createGunzip({ chunkSize })],
  ['deflate', () => createInflate({ chunkSize })],
  ['br', () => createBrotliDecompress({ chunkSize })],
  ['zstd', () => createZstdDecompress({ chunkSize, params: zstdWindow })],
])

/** The content encoding a request declares, in lower case; `identity` when it declares none. */
export function encodingOf(request: IncomingMessage): string {
  return (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase() || 'identity'
}

/**
 * Reads and decodes a body, and stops as soon as it is over one of the limits: whatever a small compressed body would
 * expand to, no more than `maxDecodedBytes` and one chunk is gathered.
 */
export function readBody(request: IncomingMessage, entry: RequestEntry, limits: BodyLimits): Promise<Buffer | Ending> {
  const decoder = decoders.get(encodingOf(request))?.()
  if (!decoder) return Promise.resolve(unsupportedEncoding())
  if (Number(request.headers['content-length']) > limits.maxRequestBytes) return Promise.resolve(overWireLimit(limits))

  return new Promise(resolve => {
    const decoded = new GrowingBuffer()
    const settle = (outcome: Buffer | Ending) => {
      request.off('data', count)
      request.unpipe(decoder)
      decoder.destroy()
      resolve(outcome)
    }
    let tail = Buffer.alloc(0)
    const count = (chunk: Buffer) => {
      entry.wireBytes += chunk.length
      tail = Buffer.concat([tail, chunk.subarray(-emptyFrame.length)]).subarray(-emptyFrame.length)
      if (entry.wireBytes > limits.maxRequestBytes) settle(overWireLimit(limits))
    }
    request.on('data', count)
    request.once('close', () => request.complete || settle(reset))
    decoder.on('data', (chunk: Buffer) => {
      decoded.append(chunk)
      entry.decodedBytes = decoded.length
      if (entry.decodedBytes > limits.maxDecodedBytes) settle(overDecodedLimit(limits))
    })
    decoder.once('error', () => settle(undecodable()))
    decoder.once('end', () => {
      // The decoders leave what follows their first complete frame; a body must not lose its second half silently.
      const unreadBytes = entry.wireBytes - (decoder.bytesWritten ?? entry.wireBytes)
      const isNothing = unreadBytes === 0 || (unreadBytes === emptyFrame.length && tail.equals(emptyFrame))
      settle(isNothing ? decoded.content() : undecodable())
    })
    request.pipe(decoder)
  })
}

/** Lets a body pass by unread, so that a client which is still sending can read the answer. */
export function drainBody(request: IncomingMessage, entry: RequestEntry): Promise<void> {
  return new Promise(resolve => {
    request.on('data', (chunk: Buffer) => {
      entry.wireBytes += chunk.length
    })
    request.once('end', resolve)
    request.once('close', resolve)
  })
}

/**
 * Lets what is left of a body pass by, for 10 seconds at most: then the connection is ended. `undefined` where nothing is
 * left; never rejects.
 */
export function restOfBody(request: IncomingMessage): Promise<void> | undefined {
  if (request.complete) return undefined
  return finished(request.resume(), { signal: abortAfter(restMs) }).catch(() => void request.socket.destroy())
}

/** Waits until a body has begun to arrive; with a big one, its sender is then in the middle of it. */
export function startOfBody(request: IncomingMessage, entry: RequestEntry): Promise<void> {
  return new Promise(resolve => {
    request.once('data', (chunk: Buffer) => {
      request.pause()
      entry.wireBytes += chunk.length
      resolve()
    })
    request.once('end', resolve)
    request.once('close', resolve)
  })
}

export function unsupportedEncoding(): Answer {
  return refusal(415, 'unsupported-encoding', `the Content-Encoding must be one of ${[...decoders.keys()].join(', ')}`)
}

function undecodable(): Answer {
  return refusal(400, 'undecodable-body', 'the body cannot be decoded as its Content-Encoding says')
}

function overWireLimit({ maxRequestBytes }: BodyLimits): Answer {
  return refusal(413, 'body-too-large', `a body may have up to ${maxRequestBytes} bytes`)
}

function overDecodedLimit({ maxDecodedBytes }: BodyLimits): Answer {
  return refusal(413, 'body-too-large', `a decoded body may have up to ${maxDecodedBytes} bytes`)
}
