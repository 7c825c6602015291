import type { ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'
import { restOfBody } from './body.ts'
import { pause } from './pause.ts'

const ticksPerSecond = 20

/**
 * Writes an answer. If it has a send rate, its headers are sent at once and its body in small pieces. The answer ends
 * only after the body of the request has ended. Many clients send the whole body before they read, and would lose the
 * answer if the connection closed earlier.
 */
export async function sendAnswer(response: ServerResponse, answer: Answer): Promise<void> {
  const body = Buffer.from(answer.body as string)
  // An answer with one of these statuses has no body, so it must not announce a length either.
  const hasBody = answer.status !== 204 && answer.status !== 304
  const passed = restOfBody(response.req)
  response.writeHead(answer.status, { ...(hasBody && { 'content-length': body.length }), ...answer.headers })
  if (answer.bytesPerSecond === undefined) {
    if (passed === undefined) return void response.end(body)
    response.write(body)
    await passed
    return void response.end()
  }
  response.flushHeaders()
  const step = Math.max(1, Math.floor(answer.bytesPerSecond / ticksPerSecond))
  for (let at = 0; at < body.length; at += step) {
    if (!(await pause(response, (1000 * step) / answer.bytesPerSecond))) return
    response.write(body.subarray(at, at + step))
  }
  await passed
  response.end()
}
