import { isPromise } from 'node:util/types'
import { NativePromise } from '../native-promise.ts'
import { ownProperties } from '../own-properties.ts'
import { milliseconds } from '../text/milliseconds.ts'
import { monotonicMs } from '../time.ts'
import { deadline } from '../time-limits.ts'
import type { DispatchController, Dispatcher, DispatchHandler } from './dispatcher.ts'
import { withoutTracing } from './without-tracing.ts'

/** Maximum bytes read of an answer, unless the caller needs more. The connection of a longer answer is closed. */
export const usualAnswerBytes = 65_536

/** Maximum time from the status of an answer to its end, in milliseconds. A connection that is left open takes no longer. */
const maxRestMs = 5000

/** Maximum number of interim answers (1xx) to one request. A service sends one or two, if any. */
const maxInterimAnswers = 100

/** The parts of an answer that this package uses. Header names are lower case. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The body as received, possibly compressed. `bodyOf` decodes it. */
  readonly body: Uint8Array
  /**
   * Reason why `body` is incomplete: it exceeds the maximum (`too-long`), or the connection or the time ended before it
   * did (`interrupted`).
   */
  readonly cut: 'too-long' | 'interrupted' | undefined
}

export interface Request {
  readonly method: 'POST' | 'GET' | 'PUT'
  readonly origin: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: Uint8Array
}

/**
 * Makes one request and reads its answer. Redirects are not followed. The promise rejects with an error if no status
 * arrives. Once a status has arrived, the promise resolves with it, whatever happens to the rest of the answer.
 *
 * @param timeoutMs time from now to the end of the answer, in milliseconds; a server that trickles gets no more. From the
 *   status to the end there are at most 5 seconds
 * @param maxAnswerBytes maximum bytes read of an answer with a 2xx status; other answers are read up to 64 KiB
 * @param onHead called when the status has arrived, with a function that returns the answer as far as it has arrived
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Request,
  timeoutMs: number,
  signal: AbortSignal,
  maxAnswerBytes = usualAnswerBytes,
  onHead?: (status: number, answerSoFar: () => Answer) => void,
): Promise<Answer> {
  if (signal.aborted) return Promise.reject(new Error('aborted'))
  const { promise, resolve, reject } = NativePromise.withResolvers<Answer>()
  let controller: DispatchController | undefined
  let head: Pick<Answer, 'status' | 'headers'> | undefined
  let body = Buffer.alloc(0) // one chunk, or grows by doubling: keeping one-byte chunks takes a hundred times as much
  let bytes = 0
  let interimAnswers = 0
  let isSettled = false

  const settle = (cut: Answer['cut'], error?: unknown): void => {
    isSettled = true
    stopClock()
    signal.removeEventListener('abort', abort)
    if (head !== undefined) resolve({ ...head, body: body.subarray(0, bytes), cut })
    else reject(error ?? new Error('the answer has no valid status'))
  }
  const fail = (error: unknown): void => settle('interrupted', error)
  const giveUp = (reason: Error): void => {
    fail(reason)
    try {
      controller?.abort(reason)
    } catch {
      // A dispatcher of the application threw. Its request is settled in any case.
    }
  }
  const abort = (): void => giveUp(new Error('aborted'))
  const expire = (): void => giveUp(timeoutError(`no complete answer within ${milliseconds(timeoutMs)}`))
  const endMs = monotonicMs() + timeoutMs
  let stopClock = deadline(timeoutMs, expire, { keepsAlive: false })
  signal.addEventListener('abort', abort)

  const handler: DispatchHandler = {
    onRequestStart(given) {
      controller = given
      if (isSettled) given.abort(new Error('aborted'))
    },
    onResponseStart(_, status, headers) {
      if (isSettled) return // an interceptor of the application has not passed the abort on
      if (status >= 200) {
        const given = { status, headers: ownProperties(headers) }
        head = given
        if (endMs - monotonicMs() > maxRestMs) {
          stopClock()
          stopClock = deadline(maxRestMs, expire, { keepsAlive: false })
        }
        onHead?.(status, () => ({ ...given, body: body.subarray(0, bytes), cut: 'interrupted' }))
      } else if (++interimAnswers === maxInterimAnswers) giveUp(new Error('interim answers without end'))
    },
    onResponseData(given, chunk) {
      if (isSettled) return
      const maxBytes = head !== undefined && head.status < 300 ? maxAnswerBytes : usualAnswerBytes
      const neededBytes = bytes + chunk.length
      if (neededBytes > body.length) {
        const roomyBytes = bytes === 0 ? neededBytes : Math.min(neededBytes * 2, maxBytes)
        body = Buffer.concat([body], Math.max(neededBytes, roomyBytes))
      }
      bytes += chunk.copy(body, bytes)
      if (bytes <= maxBytes) return
      settle('too-long')
      given.abort(new Error('answer too long'))
    },
    onResponseEnd: () => settle(undefined),
    onResponseError: (_, error) => fail(error),
  }
  try {
    const started: unknown = withoutTracing(() => dispatcher.dispatch(request, handler))
    // An interceptor of the application may be an async function.
    if (isPromise(started)) NativePromise.prototype.then.call(started, undefined, fail)
  } catch (error) {
    fail(error)
  }
  return promise
}

function timeoutError(message: string): Error {
  return Object.assign(new Error(message), { name: 'TimeoutError' })
}
