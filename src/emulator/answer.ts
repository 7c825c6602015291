/** An answer as a value. `send-answer.ts` writes it to the socket. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** Delay before the answer is sent, in milliseconds. @defaultValue 0 */
  readonly afterMs?: number
  /** Send rate of the body, in bytes per second. @defaultValue no limit */
  readonly bytesPerSecond?: number
  /** True if the connection is reset after the answer is written. @defaultValue false */
  readonly thenReset?: boolean
  /** Why the request, or a part of it, was refused. @defaultValue '', nothing was refused */
  readonly reason?: string
}

/** The end of a request: an answer, or a reset of the connection in place of an answer. */
export type Ending = Answer | { readonly kind: 'reset'; readonly afterMs?: number }

export const reset: Ending = { kind: 'reset' }

export function json(status: number, value: object, headers: Readonly<Record<string, string>> = {}): Answer {
  const withType = { 'content-type': 'application/json', ...headers }
  return { kind: 'answer', status, headers: withType, body: JSON.stringify(value) }
}

/**
 * Returns an error answer. The specification leaves the body of an error open. Here the body has a `code` for programs
 * and a `message` for people. A message never repeats text from a client, which might be a token in the wrong place.
 */
export function refusal(status: number, code: string, message: string, headers?: Record<string, string>): Answer {
  return { ...json(status, { code, message }, headers), reason: message }
}
