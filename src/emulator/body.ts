import type { IncomingMessage } from 'node:http'
import { PassThrough, type Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import zlib from 'node:zlib'
import { abortAfter } from '../time.ts'
import { type Answer, type Ending, refusal, reset } from './answer.ts'
import { GrowingBuffer } from './growing-buffer.ts'
import type { RequestEntry } from './request-log.ts'

// The names are read from the default export because old Node versions lack some of them. A named import would fail at
// load, before `startEmulator` can report that this Node is too old.
const { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } = zlib

export interface BodyLimits {
  maxRequestBytes: number
  maxDecodedBytes: number
}

/** Limits on one body, and the memory that all bodies share. */
export interface BodyReading extends BodyLimits {
  readonly memory: BodyMemory
}

/** The memory of the bodies, and of their events, of all requests that have not ended. Without a bound, each client could take its share. */
export class BodyMemory {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get isFull(): boolean {
    return this.#bytes > this.#maxBytes
  }

  allocate(bytes: number): void {
    this.#bytes += bytes
  }

  free(bytes: number): void {
    this.#bytes -= bytes
  }
}

const chunkSize = 64 * 1024

/** Maximum time to read and discard the rest of a request body, in milliseconds. */
const restMs = 10_000

/**
 * An empty zstd frame. Node appends it to a compressed body whose length is a multiple of 16 KiB, the default size of
 * Node's output buffer.
 */
const emptyFrame = Buffer.from('28b52ffd2000010000', 'hex')

// A zstd frame may require a window of up to 2 GiB from its decoder. HTTP allows 8 MiB (2^23 bytes) at most (RFC 9659).
const zstdWindow = { [constants.ZSTD_d_windowLogMax]: 23 }

const decoders = new Map<string, () => Transform & { bytesWritten?: number }>([
  ['identity', () => new PassThrough()],
  ['gzip', () => createGunzip({ chunkSize })],
  ['deflate', () => createInflate({ chunkSize })],
  ['br', () => createBrotliDecompress({ chunkSize })],
  ['zstd', () => createZstdDecompress({ chunkSize, params: zstdWindow })],
])

/** The content encodings that a request may declare. */
export const contentEncodings: readonly string[] = [...decoders.keys()]

/** Returns the content encoding that a request declares, in lower case, or `identity` if the request declares none. */
export function encodingOf(request: IncomingMessage): string {
  return (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase() || 'identity'
}

/**
 * Reads and decodes a body, and stops as soon as the body exceeds one of the limits. Even if a small compressed body
 * would expand far beyond the limit, no more than `maxDecodedBytes` and one chunk are collected.
 */
export function readBody(request: IncomingMessage, entry: RequestEntry, limits: BodyReading): Promise<Buffer | Ending> {
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
      limits.memory.allocate(chunk.length)
      if (entry.decodedBytes > limits.maxDecodedBytes) settle(overDecodedLimit(limits))
      else if (limits.memory.isFull) settle(overloaded())
    })
    decoder.once('error', () => settle(undecodable()))
    decoder.once('end', () => {
      // A decoder may stop after its first complete frame and ignore the bytes that follow. The count of unread bytes
      // makes such a body an error, so that its second half is not lost silently.
      const unreadBytes = entry.wireBytes - (decoder.bytesWritten ?? entry.wireBytes)
      const isNothing = unreadBytes === 0 || (unreadBytes === emptyFrame.length && tail.equals(emptyFrame))
      settle(isNothing ? decoded.content() : undecodable())
    })
    request.pipe(decoder)
  })
}

/** Reads and discards a body, so that a client that is still sending can go on to read the answer. */
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
 * Discards the rest of a body, for 10 seconds at most, then destroys the connection. Returns `undefined` if nothing is
 * left. The promise never rejects.
 */
export function restOfBody(request: IncomingMessage): Promise<void> | undefined {
  if (request.complete) return undefined
  return finished(request.resume(), { signal: abortAfter(restMs) }).catch(() => void request.socket.destroy())
}

/** Waits for the first chunk of a body, then pauses the request. A client with a large body is then still sending. */
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
  return refusal(400, 'undecodable-body', 'the body does not match its Content-Encoding')
}

export function overloaded(): Answer {
  const message = 'the bodies of the requests that arrive at this moment are too large together'
  return refusal(503, 'too-many-bodies', message, { 'retry-after': '1' })
}

function overWireLimit({ maxRequestBytes }: BodyLimits): Answer {
  return refusal(413, 'body-too-large', `a body may have up to ${maxRequestBytes} bytes`)
}

function overDecodedLimit({ maxDecodedBytes }: BodyLimits): Answer {
  return refusal(413, 'body-too-large', `a decoded body may have up to ${maxDecodedBytes} bytes`)
}
