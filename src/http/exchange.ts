import { milliseconds } from '../text/milliseconds.ts'
import { deadline } from './deadline.ts'
import type { DispatchController, Dispatcher, DispatchHandler } from './dispatcher.ts'
import { withoutTracing } from './without-tracing.ts'

/** Most bytes of an answer that are read where nobody needs more; the connection of one that has more is dropped. */
export const usualAnswerBytes = 65_536

/** What we look at in an answer. Header names are lower case. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** As it came, and maybe compressed: `bodyOf` reads it. */
  readonly body: Uint8Array
  /** Why `body` is not the whole of it: it is longer than is read, or the connection or the time ended before it did. */
  readonly cut?: 'too-long' | 'interrupted' | undefined
}

export interface Request {
  readonly method: 'POST' | 'GET' | 'PUT'
  readonly origin: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body?: Uint8Array
}

/**
 * One request and its answer. Redirects are not followed. Rejects when no status arrives; once one has arrived, whatever
 * happens to the rest of the answer, the status counts.
 *
 * @param timeoutMs from now to the end of the answer, in milliseconds; a server that trickles does not get more
 * @param maxAnswerBytes most bytes that are read of an answer with a status of 2xx; of any other, 64 KiB
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Request,
  timeoutMs: number,
  signal: AbortSignal,
  maxAnswerBytes = usualAnswerBytes,
): Promise<Answer> {
  if (signal.aborted) return Promise.reject(new Error('aborted'))
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let controller: DispatchController | undefined
  let head: Pick<Answer, 'status' | 'headers'> | undefined
  let body = Buffer.alloc(0) // grows by doubling: pieces of a byte that are kept one by one take a hundred times as much
  let bytes = 0
  let isSettled = false

  const settle = (cut: Answer['cut'], error?: unknown): void => {
    isSettled = true
    stopClock()
    signal.removeEventListener('abort', abort)
    if (head !== undefined) resolve({ ...head, body: body.subarray(0, bytes), cut })
    else reject(error)
  }
  const giveUp = (reason: Error): void => {
    settle('interrupted', reason)
    controller?.abort(reason)
  }
  const abort = (): void => giveUp(new Error('aborted'))
  const stopClock = deadline(timeoutMs, () => giveUp(new Error(`no complete answer within ${milliseconds(timeoutMs)}`)))
  signal.addEventListener('abort', abort)

  const handler: DispatchHandler = {
    onRequestStart(given) {
      controller = given
      if (isSettled) given.abort(new Error('aborted'))
    },
    onResponseStart(_, status, headers) {
      if (status >= 200) head = { status, headers }
    },
    onResponseData(given, chunk) {
      if (bytes + chunk.length > body.length) body = Buffer.concat([body], (bytes + chunk.length) * 2)
      bytes += chunk.copy(body, bytes)
      if (bytes > (head !== undefined && head.status < 300 ? maxAnswerBytes : usualAnswerBytes)) {
        settle('too-long')
        given.abort(new Error('answer too long'))
      }
    },
    onResponseEnd: () => settle(undefined),
    onResponseError: (_, error) => settle('interrupted', error),
  }
  try {
    withoutTracing(() => dispatcher.dispatch(request, handler))
  } catch (error) {
    settle('interrupted', error)
  }
  return promise
}
