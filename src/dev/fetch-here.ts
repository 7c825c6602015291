import { type IncomingMessage, request } from 'node:http'
import { request as requestTls } from 'node:https'
import { addAbortSignal } from 'node:stream'

/** The parts of an answer that its readers need, whether it comes from `fetch` or from `fetchHere`. */
export interface FetchedAnswer {
  readonly status: number
  readonly body: AsyncIterable<Uint8Array> | null
}

export interface FetchedRequest {
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

/**
 * Makes a request to this machine, as `fetch` does without following redirects. With `NODE_USE_ENV_PROXY`, `fetch` would
 * ask the proxy of the environment, which cannot reach this machine, and would read the token.
 */
export async function fetchHere(url: string | URL, given: FetchedRequest): Promise<FetchedAnswer> {
  const { body, ...options } = given
  const address = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const send = address.protocol === 'https:' ? requestTls : request
  send(address, { ...options, agent: false }, resolve)
    .on('error', reject)
    .end(body)
  try {
    const answer = await promise
    return { status: answer.statusCode ?? 0, body: addAbortSignal(given.signal, answer) }
  } catch (error) {
    throw (error as Error).name === 'AbortError' ? error : new TypeError('fetch failed', { cause: error })
  }
}
