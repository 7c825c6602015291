import { constants } from 'node:os'
import { monotonicMs, setTimeout } from '../time.ts'

/** The signals that tell a command to stop. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Time that the reader of standard output has for the last bytes after a signal, in milliseconds. */
export const lastBytesMs = 500

/**
 * Signals within this time after the first one count as the same, in milliseconds: a terminal and a program such as npm
 * may both send one.
 */
export const sameSignalMs = 500
/** Time that a signal has to end the process. The first process of a container ignores its own signals. */
const endMs = 100

/** A signal that tells a command to stop. */
interface Stopping {
  /** Number of the signal: 1 for the first one. */
  readonly count: number
  /** Ends the process by the signal, whatever still runs. */
  end(): void
}

/**
 * Calls a function for each stop signal that is not the same as the first one.
 *
 * @returns the function that ends this
 */
export function onStopSignals(onSignal: (stopping: Stopping) => void): () => void {
  let count = 0
  let firstAtMs = Number.NEGATIVE_INFINITY
  const listener = (signal: NodeJS.Signals): void => {
    if (monotonicMs() - firstAtMs <= sameSignalMs) return
    if (++count === 1) firstAtMs = monotonicMs()
    onSignal({
      count,
      end: () => {
        removeListeners()
        process.kill(process.pid, signal)
        setTimeout(() => process.exit(128 + constants.signals[signal]), endMs)
      },
    })
  }
  const removeListeners = (): void => {
    for (const signal of stopSignals) process.off(signal, listener)
  }
  for (const signal of stopSignals) process.on(signal, listener)
  return removeListeners
}

let stopped: Promise<void> | undefined
let isStopped = false
let hasEnded = false

/** Resolves when a signal tells the command to stop. The next signal ends the process at once. */
export function stopBySignal(): Promise<void> {
  stopped ??= new Promise(resolve => {
    // The listeners stay, because a signal that arrives during their removal would be lost.
    onStopSignals(({ count, end }) => {
      if (count > 1) end()
      isStopped = true
      if (hasEnded) exitSoon()
      resolve()
    })
  })
  return stopped
}

/**
 * Called after the command. Bytes that the reader of standard output does not take keep the process alive. If a signal
 * has stopped the command, the process ends soon; otherwise it waits for its reader, or for a signal.
 */
export function endAfterStop(): void {
  hasEnded = true
  if (isStopped) exitSoon()
}

function exitSoon(): void {
  setTimeout(() => process.exit(), lastBytesMs).unref()
}
