import { deadline } from './deadline.ts'
import type { DispatchController, Dispatcher, DispatchHandler } from './dispatcher.ts'
import { withoutTracing } from './without-tracing.ts'

/** What we look at in an answer. Header names are lower case; `body` is at most its beginning. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  /** Why `body` is not the whole of it: it has more bytes than are read, or the connection or the time ended before it did. */
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
 * @param maxAnswerBytes most bytes of the answer that are read; the connection of one that has more is dropped
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Request,
  timeoutMs: number,
  signal: AbortSignal,
  maxAnswerBytes = 65_536,
): Promise<Answer> {
  if (signal.aborted) return Promise.reject(new Error('aborted'))
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let controller: DispatchController | undefined
  let head: Pick<Answer, 'status' | 'headers'> | undefined
  const chunks: Buffer[] = []
  let bytes = 0
  let isSettled = false

  const settle = (cut: Answer['cut'], error?: unknown): void => {
    isSettled = true
    stopClock()
    signal.removeEventListener('abort', abort)
    if (head !== undefined) resolve({ ...head, body: Buffer.concat(chunks).toString('utf8'), cut })
    else reject(error)
  }
  const giveUp = (reason: Error): void => {
    settle('interrupted', reason)
    controller?.abort(reason)
  }
  const abort = (): void => giveUp(new Error('aborted'))
  const stopClock = deadline(timeoutMs, () => giveUp(new Error(`no complete answer within ${timeoutMs} ms`)))
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
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > maxAnswerBytes) {
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
