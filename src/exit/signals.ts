import { constants } from 'node:os'
import { warnAtOnce } from '../accounting/diagnostics.ts'
import { setTimeout } from '../time.ts'
import { type Drainable, ExitDrain } from './drain-at-exit.ts'

/** Pending events that a signal must not cost. */
export interface Interruptible extends Drainable {
  /** Sends what is pending without further delay. Called if the application handles the signal: it decides about the end. */
  sendNow(): void
}

/** The signals by which terminals, supervisors and orchestrators end a process. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
type Signal = (typeof signals)[number]

/** On the listeners of every copy of this package that the process has loaded: none of them is a handler of the application. */
const ours = Symbol.for('logferry.signal-listener')

/**
 * How long after a signal that the application handles pending events are sent, in milliseconds. Many handlers end the process
 * within a few: a request that is under way then would be made again, and its events arrive twice.
 */
const sendAfterMs = 50

/**
 * How long a signal that was raised again may take to end the process, in milliseconds; listeners of ours would keep the process
 * alive.
 */
const raisedMs = 1000

const listeners = signals.map(signal => {
  return { signal, listener: Object.assign(() => onSignal(signal), { [ours]: true }) }
})
const interruptible = new Set<Interruptible>()
let isRaised = false

/**
 * Delivers what `one` has pending when a signal ends the process, until `stopHeeding`. There are listeners for signals only as
 * long as there is something to deliver: otherwise a signal does what it does by default, even while the event loop is blocked.
 */
export function registerInterruptible(one: Interruptible): void {
  interruptible.add(one)
  if (interruptible.size === 1) listen()
}

export function unregisterInterruptible(one: Interruptible): void {
  if (interruptible.delete(one) && interruptible.size === 0) stopListening()
}

/** Before all others: one that is called once is off the list when it has been called, and would be overlooked. */
function listen(): void {
  if (isRaised) return
  stopListening() // where the application has taken off some of them
  for (const { signal, listener } of listeners) process.prependListener(signal, listener)
}

function stopListening(): void {
  for (const { signal, listener } of listeners) process.off(signal, listener)
}

function onSignal(signal: Signal): void {
  if (isHandled(signal)) {
    setTimeout(sendNow, sendAfterMs).unref()
    return
  }
  const delivery = new ExitDrain()
  warnAtOnce(true)
  delivery.drainables(interruptible)
  delivery.end()
  warnAtOnce(false)
  stopListening()
  if (!process.listeners(signal).some(isOurs)) raise(signal) // or another copy of this package does, whose turn comes
}

function sendNow(): void {
  for (const one of [...interruptible]) one.sendNow()
}

/** Whether the application has a handler, which then has the say. */
function isHandled(signal: Signal): boolean {
  const others = process.listeners(signal).filter(listener => !isOurs(listener))
  return others.length > signalExitCount()
}

function isOurs(listener: object): boolean {
  return ours in listener
}

interface SignalExitEmitter {
  readonly count?: unknown
}

/**
 * Listeners of the package signal-exit, which many tools use: as ours do, they end the process only if they are alone. Each
 * instance of it counts itself, where the others of its version find that; version 4 heeds both places as well.
 */
function signalExitCount(): number {
  const places = globalThis as { [key: symbol]: SignalExitEmitter | undefined }
  const { __signal_exit_emitter__: v3 } = process as { __signal_exit_emitter__?: SignalExitEmitter }
  return countIn(places[Symbol.for('signal-exit emitter')]) + countIn(v3)
}

function countIn(emitter: SignalExitEmitter | undefined): number {
  return typeof emitter?.count === 'number' ? emitter.count : 0
}

/** Has the signal do what it does without us. */
function raise(signal: Signal): void {
  isRaised = true
  // The process goes on: the first of a container ignores such signals, and a tool of signal-exit may want it.
  setTimeout(() => {
    isRaised = false
    if (interruptible.size > 0) listen()
  }, raisedMs).unref()
  try {
    process.kill(process.pid, signal === 'SIGHUP' && process.platform === 'win32' ? 'SIGINT' : signal)
  } catch {
    process.exit(128 + constants.signals[signal]) // by the convention of shells, where a process may not signal itself
  }
}
