import { emitProcessWarning, warnAtOnce } from '../notices.ts'
import { queueMicrotask, setImmediate } from '../time.ts'
import { LastDelivery } from './last-delivery.ts'
import { heedSignals, type Interruptible, stopHeeding } from './signals.ts'

/** Somebody who has something left to do when the process ends. */
export interface Unfinished extends Interruptible {
  /** Whether to deliver, too, when a signal ends the process. */
  readonly exitOnSignals: boolean
  /** Resolves when it is done, or has given up. Must keep the event loop alive until then. */
  finish(): Promise<void>
}

const unfinished = new Set<Unfinished>()
/** There while the handlers of 'exit' run: what is watched then has no later. */
let last: LastDelivery | undefined

/**
 * To be called by whoever may have something to deliver one day: the first log call of all may be made inside somebody's
 * handler of 'exit', where it is too late to listen.
 *
 * Listens before all others, of which one may throw, or call `process.exit()` once more: then none after it is called.
 */
export function expectEnd(): void {
  isMoving = true
  process.off('removeListener', onRemoved).off('exit', deliverAll).off('exit', endDelivery)
  process.prependListener('exit', deliverAll).on('exit', endDelivery).on('removeListener', onRemoved)
  isMoving = false
  if (process.versions.deno !== undefined) expectEndOfDeno()
}

/** Deno emits no 'exit' after an uncaught error, nor by `Deno.exit()`. */
function expectEndOfDeno(): void {
  process.off('uncaughtExceptionMonitor', deliverUncaught).on('uncaughtExceptionMonitor', deliverUncaught)
  const { addEventListener } = globalThis as { addEventListener?: (name: string, listener: () => void) => void }
  addEventListener?.('unload', deliverAndEnd) // the same listener is added once
}

function deliverUncaught(): void {
  if (process.listenerCount('uncaughtException') === 0) deliverAndEnd()
}

function deliverAndEnd(): void {
  deliverAll()
  endDelivery()
}

/** Whether our listeners are being taken off by ourselves. */
let isMoving = false
let isRemovalSaid = false

/** Where the application takes all listeners off 'exit', and with them ours, they come back, and it is said once. */
function onRemoved(name: string | symbol, listener: unknown): void {
  if (isMoving || name !== 'exit') return
  if (listener === deliverAll || listener === endDelivery) queueMicrotask(putBack)
  // At once if that was the last: `process.exit()` may follow. Otherwise `removeAllListeners` would come upon them again.
  if (process.listenerCount('exit') === 0) putBack()
}

function putBack(): void {
  const listeners: unknown[] = process.listeners('exit')
  if (listeners.includes(deliverAll) && listeners.includes(endDelivery)) return
  expectEnd()
  if (isRemovalSaid) return
  isRemovalSaid = true
  emitProcessWarning({
    code: 'LOGFERRY_EXIT',
    message:
      "logferry: the application has removed all listeners of the process's 'exit' event, and with them what delivers pending " +
      "events at the end. They are put back. Remove single listeners: process.off('exit', listener).",
    suppressed: 0,
  })
}

/**
 * Has the one finished when the process comes to its natural end, and its leftovers delivered when it ends by
 * `process.exit()`, an uncaught error or a signal. One listener for each serves every shipper of the process.
 */
export function watch(one: Unfinished): void {
  if (unfinished.size === 0 && last === undefined) {
    process.off('beforeExit', finishAll).on('beforeExit', finishAll)
    expectEnd() // once more, to come before and after handlers that are there by now
  }
  unfinished.add(one)
  if (one.exitOnSignals && last === undefined) heedSignals(one)
}

/** While the handlers of 'exit' run, delivers what has been logged in them so far. */
export function deliverIfEnding(): void {
  last?.deliver(unfinished)
}

export function unwatch(one: Unfinished): void {
  if (unfinished.delete(one) && unfinished.size === 0) process.off('beforeExit', finishAll)
  stopHeeding(one)
}

/** Work started here is waited for: Node asks again when the loop is empty once more. */
function finishAll(): void {
  for (const one of unfinished) void one.finish()
}

function deliverAll(): void {
  last = new LastDelivery()
  warnAtOnce(true)
  last.deliver(unfinished)
  last.dismiss()
}

function endDelivery(): void {
  const delivery = last
  delivery?.deliver(unfinished)
  delivery?.dismiss()
  // Comes only where somebody emitted 'exit' in a process that goes on.
  setImmediate(() => {
    delivery?.dismiss()
    warnAtOnce(false)
    last = undefined
  }).unref()
}
