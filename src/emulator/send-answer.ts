import type { ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'
import { pause } from './pause.ts'

const ticksPerSecond = 20

/** Writes an answer; one with a speed gets its headers at once and its body bit by bit. */
export async function sendAnswer(response: ServerResponse, answer: Answer): Promise<void> {
  const body = Buffer.from(answer.body as string)
  // Statuses that have no body may not announce one either.
  const hasBody = answer.status !== 204 && answer.status !== 304
  response.writeHead(answer.status, { ...(hasBody && { 'content-length': body.length }), ...answer.headers })
  if (answer.bytesPerSecond === undefined) {
    response.end(body)
    return
  }
  response.flushHeaders()
  const step = Math.max(1, Math.floor(answer.bytesPerSecond / ticksPerSecond))
  for (let at = 0; at < body.length; at += step) {
    if (!(await pause(response, (1000 * step) / answer.bytesPerSecond))) return
    response.write(body.subarray(at, at + step))
  }
  response.end()
}
