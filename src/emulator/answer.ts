/** An answer as a value; `send-answer.ts` writes it. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /** How long it is held back, in milliseconds. @defaultValue 0 */
  readonly afterMs?: number
  /** How fast the body is sent. @defaultValue as fast as it goes */
  readonly bytesPerSecond?: number
  /** The connection is reset once the answer is written. @defaultValue false */
  readonly thenReset?: boolean
}

/** How a request ends: with an answer, or with its connection reset instead of one. */
export type Ending = Answer | { readonly kind: 'reset'; readonly afterMs?: number }

export const reset: Ending = { kind: 'reset' }

export function json(status: number, value: object, headers: Readonly<Record<string, string>> = {}): Answer {
  const withType = { 'content-type': 'application/json', ...headers }
  return { kind: 'answer', status, headers: withType, body: JSON.stringify(value) }
}

/**
 * An error answer. The specification leaves its body open; ours has a `code` for programs and a `message` for people.
 * A message never repeats what a client sent: it might be a token in the wrong place.
 */
export function refusal(status: number, code: string, message: string, headers?: Record<string, string>): Answer {
  return json(status, { code, message }, headers)
}
