import { clearImmediate, clearTimeout, monotonicMs, setImmediate, setTimeout } from '../time.ts'

/** A timer this much late means that the event loop was blocked, and that the answer may lie in the socket unread. */
const blockedLoopMs = 250
const blockedLoopGraceMs = 1000

/**
 * Calls `expire` after `ms`; where the event loop was blocked meanwhile, only after what lies in the sockets was read.
 *
 * @param keepsAlive whether the process waits for it before it ends by itself
 * @returns stops the clock
 */
export function deadline(ms: number, expire: () => void, keepsAlive = false): () => void {
  const startedAtMs = monotonicMs()
  const start = (delayMs: number, then: () => void): NodeJS.Timeout => {
    const timer = setTimeout(then, delayMs)
    return keepsAlive ? timer : timer.unref()
  }
  let lastTurn: NodeJS.Immediate | undefined
  // Timers run before sockets are read: however short the loop was blocked, an answer that is there gets its turn. Not
  // unreferenced, as a loop that has nothing else to do would sleep on: it keeps the process alive for this one turn.
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
