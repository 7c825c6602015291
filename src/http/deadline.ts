import { clearImmediate, clearTimeout, monotonicMs, setImmediate, setTimeout } from '../time.ts'

/**
 * A timer that is this late, in milliseconds, means that the event loop was blocked. An answer may be unread in the
 * socket.
 */
const blockedLoopMs = 250
const blockedLoopGraceMs = 1000

/**
 * Calls `expire` after `ms` milliseconds, once the sockets have been read. If the event loop was blocked, `expire`
 * waits one second longer.
 *
 * @param keepsAlive true if the process waits for the deadline before it ends by itself
 * @returns a function that stops the clock
 */
export function deadline(ms: number, expire: () => void, keepsAlive = false): () => void {
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
    const lateMs = monotonicMs() - startedAtMs - ms
    if (lateMs < blockedLoopMs) return expireAfterReading()
    timer = start(blockedLoopGraceMs, expireAfterReading)
  })
  return () => {
    clearTimeout(timer)
    clearImmediate(lastTurn)
  }
}
