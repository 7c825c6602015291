import type { Dispatcher } from 'undici'
import { withoutTracing } from './without-tracing.ts'

/** Most bytes of an answer that are read; the connection of one that has more is dropped. */
const maxAnswerBytes = 65_536

/** A timer this much late means that the event loop was blocked, and that the answer may lie in the socket unread. */
const blockedLoopMs = 250
const blockedLoopGraceMs = 1000

/** What we look at in an answer. Header names are lower case; `body` is at most the first 64 KiB. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
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
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Request,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Answer> {
  if (signal.aborted) return Promise.reject(new Error('aborted'))
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  let controller: Dispatcher.DispatchController | undefined
  let head: Omit<Answer, 'body'> | undefined
  const chunks: Buffer[] = []
  let bytes = 0
  let isSettled = false

  const settle = (error?: unknown): void => {
    isSettled = true
    stopClock()
    signal.removeEventListener('abort', abort)
    if (head !== undefined) resolve({ ...head, body: Buffer.concat(chunks).toString('utf8') })
    else reject(error)
  }
  const giveUp = (reason: Error): void => {
    settle(reason)
    controller?.abort(reason)
  }
  const abort = (): void => giveUp(new Error('aborted'))
  const stopClock = deadline(timeoutMs, () => giveUp(new Error(`no complete answer within ${timeoutMs} ms`)))
  signal.addEventListener('abort', abort)

  const handler: Dispatcher.DispatchHandler = {
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
        settle()
        given.abort(new Error('answer too long'))
      }
    },
    onResponseEnd: () => settle(),
    onResponseError: (_, error) => settle(error),
  }
  try {
    withoutTracing(() => dispatcher.dispatch(request as Dispatcher.DispatchOptions, handler))
  } catch (error) {
    settle(error)
  }
  return promise
}

/** Calls `expire` after `ms`; where the event loop was blocked meanwhile, only after what lies in the sockets was read. */
function deadline(ms: number, expire: () => void): () => void {
  const startedAtMs = performance.now()
  let timer = setTimeout(() => {
    const lateMs = performance.now() - startedAtMs - ms
    if (lateMs < blockedLoopMs) return expire()
    timer = setTimeout(expire, blockedLoopGraceMs).unref()
  }, ms).unref()
  return () => clearTimeout(timer)
}
