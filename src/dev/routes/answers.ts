import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Answer, refusal } from '../../emulator/answer.ts'
import { GrowingBuffer } from '../../emulator/growing-buffer.ts'
import { BadRequest } from './parameters.ts'

/** Maximum size of the body of a request of the page, in bytes. */
const maxBodyBytes = 1_048_576

/** Headers of every answer of page and API. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...safeHeaders, 'content-length': Buffer.byteLength(body), ...headers })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

export function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  send(response, refusal(status, code, message))
}

/** Reads the JSON in the body of a request. @throws BadRequest */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = new GrowingBuffer()
  for await (const chunk of request) {
    body.append(chunk as Buffer)
    if (body.length > maxBodyBytes) throw new BadRequest(`the body may have ${maxBodyBytes} bytes`)
  }
  try {
    return JSON.parse(body.content().toString())
  } catch {
    throw new BadRequest('the body is not valid JSON')
  }
}

/** Sends lines as they come, at the pace of the reader. */
export async function sendLines(
  response: ServerResponse,
  lines: AsyncIterable<string>,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  response.writeHead(200, { ...safeHeaders, 'content-type': 'application/x-ndjson; charset=utf-8', ...headers })
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  for await (const line of lines) {
    if (response.destroyed) return
    if (response.write(`${line}\n`)) continue
    await once(response, 'drain', { signal: closed.signal }).catch(() => {})
  }
  response.end()
}
