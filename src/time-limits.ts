/**
 * The ways to wait for something that may take too long. Each one exists for a reason of its own:
 *
 * - `deadline` calls a function, because a request is not a promise: its socket must be read before it counts as late.
 * - `ownDeadline` leaves out the time of other processes, because an answer is late with all else on a machine that has
 *   more work than its processors can do.
 * - `settlesWithin` tells if work is done, because a caller goes on without work that takes too long.
 * - `beforeAbort` ends a wait by a signal, because one deadline ends several waits, and so does a client that closes.
 */

import { NativePromise } from './native-promise.ts'
import { ownProperties } from './own-properties.ts'
import {
  clearImmediate,
  clearInterval,
  clearTimeout,
  monotonicMs,
  setImmediate,
  setInterval,
  setTimeout,
} from './time.ts'

export interface TimeLimitOptions {
  /**
   * True if the process does not end by itself before the time is up.
   *
   * @defaultValue true
   */
  readonly keepsAlive?: boolean
  /** Of `settlesWithin`: is given a function that ends the wait early, and returns a function that takes it back. */
  readonly endEarly?: (end: () => void) => () => void
}

/**
 * A timer that is this late, in milliseconds, means that the event loop was blocked. An answer may be unread in the
 * socket.
 */
const blockedLoopMs = 250
const blockedLoopGraceMs = 1000

/**
 * Calls `expire` after `ms` milliseconds, once the sockets have been read. If the event loop was blocked, or the process
 * was frozen, `expire` waits one second longer.
 *
 * @returns a function that stops the clock
 */
export function deadline(ms: number, expire: () => void, options: TimeLimitOptions = {}): () => void {
  const { keepsAlive = true } = ownProperties(options)
  const startedAtMs = monotonicMs()
  const start = (delayMs: number, then: () => void): NodeJS.Timeout => {
    const timer = setTimeout(then, delayMs)
    return keepsAlive ? timer : timer.unref()
  }
  let lastTurn: NodeJS.Immediate | undefined
  // Timers run before sockets are read. The immediate gives an answer in a socket its turn, however short the loop was
  // blocked. It is not unreferenced, because an otherwise idle loop would sleep on instead of running it. So it keeps
  // the process alive for this one turn.
  const expireAfterReading = (): void => {
    lastTurn = setImmediate(expire)
  }
  let timer = start(ms, () => {
    if (ms <= 0) return expire() // the caller does not wait for an answer
    const lateMs = monotonicMs() - startedAtMs - ms
    if (lateMs < blockedLoopMs) return expireAfterReading()
    timer = start(blockedLoopGraceMs, expireAfterReading)
  })
  return () => {
    clearTimeout(timer)
    clearImmediate(lastTurn)
  }
}

/** Interval in which the event loop is looked at, and the delay from which on it counts as late, in milliseconds. */
const lookEveryMs = 50
const lateLoopMs = 25

/**
 * Calls `expire` once the event loop has turned on time for `ms` milliseconds, or after `maxMs`. Time in which the loop was
 * late does not count: the process had to wait for a processor, or was blocked. Where many processes start at once, each has
 * to wait most of the time. Does not keep the process alive.
 *
 * @returns a function that stops the clock
 */
export function ownDeadline(ms: number, maxMs: number, expire: () => void): () => void {
  let leftMs = ms
  let lookedAtMs = monotonicMs()
  const maxAtMs = lookedAtMs + maxMs
  const timer = setInterval(() => {
    const sinceMs = monotonicMs() - lookedAtMs
    lookedAtMs += sinceMs
    if (sinceMs < lookEveryMs + lateLoopMs) leftMs -= sinceMs
    if (leftMs > 0 && lookedAtMs < maxAtMs) return
    clearInterval(timer)
    expire()
  }, lookEveryMs).unref()
  return () => clearInterval(timer)
}

/**
 * Resolves to true if the work ends within the time, even by an error. Never rejects. The work may wait for an answer
 * that is unread in a socket, so the time is that of a `deadline`.
 */
export async function settlesWithin(
  work: Promise<unknown>,
  timeoutMs: number,
  options?: TimeLimitOptions,
): Promise<boolean> {
  const { promise, resolve } = NativePromise.withResolvers<boolean>()
  const stopClock = deadline(timeoutMs, () => resolve(false), options)
  const onSettled = (): void => resolve(true)
  const waiting = waitersFor(work)
  waiting.add(onSettled)
  const takeBack = ownProperties(options ?? {}).endEarly?.(() => resolve(false))
  const isSettled = await promise
  takeBack?.()
  stopClock()
  waiting.delete(onSettled)
  return isSettled
}

type Waiters = Set<() => void>

/** The callers that wait for the same work. A promise itself would keep each caller, also when its time is up. */
const waitersByWork = new WeakMap<Promise<unknown>, Waiters>()

function waitersFor(work: Promise<unknown>): Waiters {
  const known = waitersByWork.get(work)
  if (known !== undefined) return known
  const waiters: Waiters = new Set()
  const settle = (): void => {
    waitersByWork.delete(work)
    for (const onSettled of waiters) onSettled()
  }
  waitersByWork.set(work, waiters)
  work.then(settle, settle)
  return waiters
}

/** Settles as `promise` does, or rejects with the result of `reason` once `signal` is aborted. */
export async function beforeAbort<T>(promise: Promise<T>, signal: AbortSignal, reason: () => Error): Promise<T> {
  const { promise: aborted, reject } = NativePromise.withResolvers<never>()
  const abort = (): void => reject(reason())
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
