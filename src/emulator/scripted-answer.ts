import { validateHeaderName, validateHeaderValue } from 'node:http'
import { type Answer, json, refusal } from './answer.ts'
import { badText, checkInteger, checkObject, checkOptions, mistake } from './checks.ts'

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
    checkHeader(`${what}: headers`, name, value)
    own[name.toLowerCase()] = value
  }
  if (body === undefined) {
    return { ...refusal(status, 'scripted', `a test scripted the status ${status}`, own), reason: reasonOf(status) }
  }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    const headers = { 'content-type': 'text/plain; charset=utf-8', ...own }
    return { kind: 'answer', status, headers, body, reason: reasonOf(status) }
  }
  return { ...json(status, checkJson(`${what}: body`, body), own), reason: reasonOf(status) }
}

function checkHeader(name: string, header: string, value: string): void {
  try {
    validateHeaderName(header)
    validateHeaderValue(header, value)
  } catch {
    const expected = 'names and values that HTTP allows in a header'
    throw typeof value === 'string' ? badText(name, expected, `${header}: ${value}`) : mistake(name, expected, value)
  }
}

/** Returns a value that can be sent as JSON. */
function checkJson(name: string, value: object): object {
  const expected = 'a string, bytes, or an object that JSON can represent'
  if (typeof value !== 'object' || value === null) throw mistake(name, expected, value)
  try {
    JSON.stringify(value)
  } catch {
    throw mistake(name, expected, value)
  }
  return value
}

function reasonOf(status: number): string {
  return status < 300 ? '' : `a fault made the status ${status}`
}
