import { setTimeout } from '../time.ts'

/** The signals that tell a command to stop. */
export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Time that the reader of standard output has for the last bytes after a signal, in milliseconds. */
export const lastBytesMs = 500

const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
let isStopped = false
let hasEnded = false

/** Resolves when a signal tells the command to stop. A second signal ends the process at once. */
export function stopBySignal(): Promise<void> {
  for (const signal of stopSignals) process.once(signal, onSignal)
  return stopped
}

function onSignal(signal: NodeJS.Signals): void {
  // The listener stays until a signal comes, because a signal that arrives during its removal would be lost.
  if (hasEnded) process.kill(process.pid, signal)
  isStopped = true
  stop()
}

/**
 * Called after the command. Bytes that the reader of standard output does not take keep the process alive. If a signal
 * has stopped the command, the process ends soon; otherwise it waits for its reader, and the next signal ends it.
 */
export function endAfterStop(): void {
  hasEnded = true
  if (isStopped) setTimeout(() => process.exit(), lastBytesMs).unref()
}
