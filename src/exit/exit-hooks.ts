import { emitProcessWarning, warnAtOnce } from '../accounting/diagnostics.ts'
import { queueMicrotask, setImmediate } from '../time.ts'
import { ExitDrain } from './drain-at-exit.ts'
import { type Interruptible, registerInterruptible, unregisterInterruptible } from './signals.ts'

/** Somebody who has something left to do when the process ends. */
export interface ExitDrainable extends Interruptible {
  /** Whether to deliver, too, when a signal ends the process. */
  readonly exitOnSignals: boolean
  /** Resolves when it is done, or has given up. Must keep the event loop alive until then. */
  finish(): Promise<void>
}

const drainables = new Set<ExitDrainable>()
/** There while the handlers of 'exit' run: what is watched then has no later. */
let exitDrain: ExitDrain | undefined

/**
 * To be called by whoever may have something to deliver one day: the first log call of all may be made inside somebody's
 * handler of 'exit', where it is too late to listen.
 *
 * Listens before all others, of which one may throw, or call `process.exit()` once more: then none after it is called.
 */
export function installExitHooks(): void {
  isMoving = true
  process.off('removeListener', onRemoved).off('exit', drainAll).off('exit', endDrain)
  process.prependListener('exit', drainAll).on('exit', endDrain).on('removeListener', onRemoved)
  isMoving = false
  if (process.versions.deno !== undefined) installDenoHooks()
}

/** Deno emits no 'exit' after an uncaught error, nor by `Deno.exit()`. */
function installDenoHooks(): void {
  process.off('uncaughtExceptionMonitor', drainUncaught).on('uncaughtExceptionMonitor', drainUncaught)
  const { addEventListener } = globalThis as { addEventListener?: (name: string, listener: () => void) => void }
  addEventListener?.('unload', drainAndEnd) // the same listener is added once
}

function drainUncaught(): void {
  if (process.listenerCount('uncaughtException') === 0) drainAndEnd()
}

function drainAndEnd(): void {
  drainAll()
  endDrain()
}

/** Whether our listeners are being taken off by ourselves. */
let isMoving = false
let isRemovalSaid = false

/** Where the application takes all listeners off 'exit', and with them ours, they come back, and it is said once. */
function onRemoved(name: string | symbol, listener: unknown): void {
  if (isMoving || name !== 'exit') return
  if (listener === drainAll || listener === endDrain) queueMicrotask(reinstall)
  // At once if that was the last: `process.exit()` may follow. Otherwise `removeAllListeners` would come upon them again.
  if (process.listenerCount('exit') === 0) reinstall()
}

function reinstall(): void {
  const listeners: unknown[] = process.listeners('exit')
  if (listeners.includes(drainAll) && listeners.includes(endDrain)) return
  installExitHooks()
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
export function registerDrainable(one: ExitDrainable): void {
  if (drainables.size === 0 && exitDrain === undefined) {
    process.off('beforeExit', finishAll).on('beforeExit', finishAll)
    installExitHooks() // once more, to come before and after handlers that are there by now
  }
  drainables.add(one)
  if (one.exitOnSignals && exitDrain === undefined) registerInterruptible(one)
}

/** While the handlers of 'exit' run, delivers what has been logged in them so far. */
export function drainIfExiting(): void {
  exitDrain?.drainables(drainables)
}

export function unregisterDrainable(one: ExitDrainable): void {
  if (drainables.delete(one) && drainables.size === 0) process.off('beforeExit', finishAll)
  unregisterInterruptible(one)
}

/** Work started here is waited for: Node asks again when the loop is empty once more. */
function finishAll(): void {
  for (const one of drainables) void one.finish()
}

function drainAll(): void {
  exitDrain = new ExitDrain()
  warnAtOnce(true)
  exitDrain.drainables(drainables)
  exitDrain.end()
}

function endDrain(): void {
  const delivery = exitDrain
  delivery?.drainables(drainables)
  delivery?.end()
  // Comes only where somebody emitted 'exit' in a process that goes on.
  setImmediate(() => {
    delivery?.end()
    warnAtOnce(false)
    exitDrain = undefined
  }).unref()
}
