import { constants } from 'node:os'
import { invalidOption } from '../errors.ts'
import { described, kindOf } from '../options/described.ts'
import { optionsOf } from '../options/options-of.ts'

/** A shipper, or whatever delivers through one. */
interface Flushable {
  flush(options: { timeoutMs: number; isLast: true }): Promise<{ readonly complete: boolean }>
  close(options: { timeoutMs: number }): Promise<unknown>
}

export interface FlushOnSignalsOptions {
  /** @defaultValue ['SIGTERM', 'SIGINT'] */
  signals?: readonly NodeJS.Signals[] | undefined
  /**
   * Longest wait for delivery, in milliseconds. 0 to 600 000; less than who sends the signal waits before it kills
   * (Kubernetes 30 s, Docker 10 s).
   *
   * @defaultValue 5000
   */
  timeoutMs?: number | undefined
}

/** The listeners made here: of several shippers, the last to be done raises the signal again. */
const ours = new Set<unknown>()

/**
 * Delivers what is pending when the process is told to stop, and then lets the signal do what it would have done. For
 * programs that do not handle these signals themselves: signals are the application's. Where it has a listener of its own
 * for the same signal, this one only flushes, and the end of the process is left to the other.
 *
 * A signal that comes again meanwhile (Ctrl+C reaches npm and its child) does not cut the delivery short.
 *
 * @returns undoes it
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`
 */
export function flushOnSignals(shipper: Flushable, options: FlushOnSignalsOptions = {}): () => void {
  const { signals = ['SIGTERM', 'SIGINT'], timeoutMs = 5000 } = optionsOf(options)
  check(shipper, signals, timeoutMs)
  let isFlushing = false
  const stopListening = (): void => {
    for (const signal of signals) process.off(signal, onSignal)
    ours.delete(onSignal)
  }
  const onSignal = async (signal: NodeJS.Signals): Promise<void> => {
    if (isFlushing) return
    isFlushing = true
    const { complete } = await shipper.flush({ timeoutMs, isLast: true })
    isFlushing = false
    if (process.listeners(signal).some(listener => !ours.has(listener))) return
    if (!complete) await shipper.close({ timeoutMs: 0 }) // says what is lost
    stopListening()
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
  ours.add(onSignal)
  for (const signal of signals) process.on(signal, onSignal)
  return stopListening
}

function check(shipper: Flushable, signals: readonly string[], timeoutMs: number): void {
  if (typeof shipper?.flush !== 'function')
    throw invalidOption('shipper', 'what createShipper() returns', kindOf(shipper))
  const isList = Array.isArray(signals) && signals.length > 0
  if (!isList || !signals.every(isHeard)) {
    throw invalidOption('signals', 'an array of names of signals that can be handled', described(signals), 'range')
  }
  if (!(typeof timeoutMs === 'number' && timeoutMs >= 0 && timeoutMs <= 600_000)) {
    throw invalidOption('timeoutMs', 'a number from 0 to 600000 (milliseconds)', described(timeoutMs), 'range')
  }
}

function isHeard(signal: string): boolean {
  return Object.hasOwn(constants.signals, signal) && signal !== 'SIGKILL' && signal !== 'SIGSTOP'
}
