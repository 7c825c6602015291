import type { IncomingMessage } from 'node:http'
import { type Answer, refusal } from './answer.ts'

/** Returns the media type of a request's body, in lower case and without parameters. */
export function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

export function checkMediaType(request: IncomingMessage, allowed: readonly string[]): Answer | undefined {
  if (allowed.includes(mediaTypeOf(request))) return undefined
  return refusal(415, 'unsupported-media-type', `the Content-Type must be ${allowed.join(' or ')}`)
}
