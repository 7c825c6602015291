import { constants } from 'node:os'
import { warnAtOnce, warnOnNextTick } from '../accounting/diagnostics.ts'
import { isOurs, prependListener } from '../own-listeners.ts'
import { setImmediate, setTimeout } from '../time.ts'
import { type Drainable, ExitDrain } from './drain-at-exit.ts'

/** Pending events that a signal must not lose. */
export interface Interruptible extends Drainable {
  /** Sends pending events without delay. Called if the application handles the signal, and so decides about the end. */
  sendNow(): void
}

/** Signals with which terminals, supervisors and orchestrators end a process. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
type Signal = (typeof signals)[number]

/**
 * Delay before pending events are sent after a signal that the application handles, in milliseconds. Many handlers end
 * the process within a few milliseconds. A request in flight would then be made again, and its events would arrive
 * twice.
 */
const sendAfterMs = 50

/**
 * Time that a signal raised again has to end the process, in milliseconds. Until then this package has no listeners,
 * because they would keep the process alive.
 */
const raisedMs = 1000

const listeners = signals.map(signal => {
  return { signal, listener: () => onSignal(signal) }
})
const interruptible = new Set<Interruptible>()
/** True while the listeners must exist, although the application may remove them. */
let isListening = false
let isRaised = false
/** Set while listeners of signal-exit follow, which may log, and end the process before any later moment. */
let lastDrain: ExitDrain | undefined

/**
 * Delivers the pending events of `one` if a signal ends the process, until `unregisterInterruptible`. Signal listeners
 * exist only while there is something to deliver. Otherwise a signal has its default effect, even while the event loop
 * is blocked.
 */
export function registerInterruptible(one: Interruptible): void {
  interruptible.add(one)
  if (interruptible.size === 1) listen()
}

export function unregisterInterruptible(one: Interruptible): void {
  if (interruptible.delete(one) && interruptible.size === 0) stopListening()
}

function listen(): void {
  if (isRaised) return
  stopListening() // in case the application has put some of them elsewhere
  isListening = true
  restoreSignalListeners()
}

/** True if the signal has a listener of this module, unless the application has just removed it. */
export function isListeningTo(name: string | symbol): boolean {
  return isListening && listeners.some(({ signal }) => signal === name)
}

/**
 * Adds the listeners that are missing, before all others. A `once` listener that is called first is already removed,
 * and `isHandled` would overlook it.
 */
export function restoreSignalListeners(): void {
  if (!isListening) return
  for (const { signal, listener } of listeners) {
    if (!process.listeners(signal).includes(listener)) prependListener(signal, listener)
  }
}

function stopListening(): void {
  isListening = false
  for (const { signal, listener } of listeners) process.off(signal, listener)
}

function onSignal(signal: Signal): void {
  if (isHandled(signal)) {
    setTimeout(sendNow, sendAfterMs).unref()
    return
  }
  const exitDrain = new ExitDrain()
  warnAtOnce()
  exitDrain.drain(interruptible)
  if (signalExitCount() > 0) {
    lastDrain = exitDrain
    setImmediate(endDrain, exitDrain).unref()
  } else {
    endDrain(exitDrain)
  }
  stopListening()
  if (!process.listeners(signal).some(isOurs)) raise(signal) // otherwise another copy of this package raises it
}

function endDrain(exitDrain: ExitDrain): void {
  if (lastDrain === exitDrain) lastDrain = undefined
  exitDrain.end()
  warnOnNextTick()
}

/** Delivers events that a listener of signal-exit has logged. */
export function drainIfRaised(): void {
  lastDrain?.drain(interruptible)
}

function sendNow(): void {
  for (const one of [...interruptible]) one.sendNow()
}

/** True if the application has a handler for the signal, and so decides about the end. */
function isHandled(signal: Signal): boolean {
  const others = process.listeners(signal).filter(listener => !isOurs(listener))
  return others.length > signalExitCount()
}

interface SignalExitEmitter {
  readonly count?: unknown
}

/**
 * Returns the number of listeners of the package signal-exit, which many tools use. Like the listeners of this package,
 * they end the process only if no others exist. Each instance counts its listeners in a place shared by its version,
 * and version 4 reads both places, too.
 */
function signalExitCount(): number {
  const places = globalThis as { [key: symbol]: SignalExitEmitter | undefined }
  const { __signal_exit_emitter__: v3 } = process as { __signal_exit_emitter__?: SignalExitEmitter }
  return countIn(places[Symbol.for('signal-exit emitter')]) + countIn(v3)
}

function countIn(emitter: SignalExitEmitter | undefined): number {
  return typeof emitter?.count === 'number' ? emitter.count : 0
}

/** Raises the signal again, without the listeners of this package. */
function raise(signal: Signal): void {
  isRaised = true
  // If the timer fires, the process goes on. The first process of a container ignores such signals, and a tool that
  // uses signal-exit may keep the process alive.
  setTimeout(() => {
    isRaised = false
    if (interruptible.size > 0) listen()
  }, raisedMs).unref()
  try {
    process.kill(process.pid, signal === 'SIGHUP' && process.platform === 'win32' ? 'SIGINT' : signal)
  } catch {
    process.exit(128 + constants.signals[signal]) // the exit code of shells, if the process may not signal itself
  }
}
