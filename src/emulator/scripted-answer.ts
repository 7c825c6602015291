import { validateHeaderName, validateHeaderValue } from 'node:http'
import { type Answer, json, refusal } from './answer.ts'
import { checkInteger, checkObject, checkOptions } from './checks.ts'

/** An answer that a test scripts. */
export interface ScriptedAnswer {
  /** HTTP status. Integer, 200 to 599. */
  status: number
  /** Headers to send. They replace headers of the same name that the emulator would send. */
  headers?: Readonly<Record<string, string>> | undefined
  /**
   * Body to send: an object is sent as JSON, a string or bytes without change.
   *
   * @defaultValue a JSON object with `code` and `message`
   */
  body?: string | Uint8Array | object | undefined
}

/** Checks an answer that a test scripted; `what` names the call in the error. */
export function scripted(what: string, answer: ScriptedAnswer): Answer {
  const { status, headers = {}, body } = checkOptions(`${what}: answer`, answer, ['status', 'headers', 'body'])
  checkObject(`${what}: headers`, headers)
  checkInteger(`${what}: status`, status, 200, 599)
  const own: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    own[name.toLowerCase()] = value
  }
  if (body === undefined) {
    return { ...refusal(status, 'scripted', `a test scripted the status ${status}`, own), reason: reasonOf(status) }
  }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const headers = { 'content-type': 'text/plain; charset=utf-8', ...own }
    return { kind: 'answer', status, headers, body, reason: reasonOf(status) }
  }
  return { ...json(status, body, own), reason: reasonOf(status) }
}

function reasonOf(status: number): string {
  return status < 300 ? '' : `a fault made the status ${status}`
}
