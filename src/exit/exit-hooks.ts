import { emitProcessWarning, warnAtOnce, warnOnNextTick } from '../accounting/diagnostics.ts'
import { appendListener, prependListener } from '../own-listeners.ts'
import { onNextTick, queueMicrotask, setImmediate } from '../time.ts'
import { ExitDrain } from './drain-at-exit.ts'
import {
  drainIfRaised,
  type Interruptible,
  isListeningTo,
  registerInterruptible,
  restoreSignalListeners,
  unregisterInterruptible,
} from './signals.ts'

/** Work that must be finished or delivered when the process ends. */
export interface ExitDrainable extends Interruptible {
  /** True if a signal that ends the process waits for delivery, too. */
  readonly exitOnSignals: boolean
  /** Resolves when the work is done, or given up. Must keep the event loop alive until then. */
  finish(): Promise<void>
}

const drainables = new Set<ExitDrainable>()
/** Functions that withdraw what this process has published, such as its request rate. */
const releases = new Set<() => void>()
/** Set while the handlers of 'exit' run. Work registered meanwhile has no later chance. */
let exitDrain: ExitDrain | undefined
/** Number of calls of `holdExitHooks` without one of `releaseExitHooks`. */
let holders = 0
let isInstalled = false
/** True if the listeners were installed while the handlers of 'exit' ran already: they will not be called. */
let isTooLate = false

/**
 * Installs the listeners that deliver pending events when the process ends. Each shipper calls it before it has any
 * event. The first log call may be made in an 'exit' handler, when it is too late to add listeners.
 */
export function holdExitHooks(): void {
  holders++
  installExitHooks()
}

/** Removes the listeners once no other shipper holds them and nothing is left to deliver. */
export function releaseExitHooks(): void {
  holders--
  removeIfUnused()
}

/** Calls `release` when the process ends, if the exit hooks are held. It must not throw. */
export function addRelease(release: () => void): void {
  releases.add(release)
}

export function removeRelease(release: () => void): void {
  releases.delete(release)
}

/**
 * The first listener comes before all others. Another listener may throw, or call `process.exit()` again, and then no
 * listener after it is called.
 */
function installExitHooks(): void {
  isInstalled = true
  isMoving = true
  process.off('removeListener', onRemoved).off('exit', drainAll).off('exit', endDrain)
  prependListener('exit', drainAll)
  appendListener('exit', endDrain)
  appendListener('removeListener', onRemoved)
  isMoving = false
  if (exitDrain === undefined && (process as { _exiting?: boolean })._exiting === true) {
    isTooLate = true
    exitDrain = new ExitDrain()
    warnAtOnce()
  }
  if (isDeno()) installDenoHooks()
}

function isDeno(): boolean {
  return Object.hasOwn(process.versions, 'deno')
}

/** Applications that load this package again and again, as test runners do, would collect listeners. */
function removeIfUnused(): void {
  if (holders > 0 || drainables.size > 0 || exitDrain !== undefined) return
  isInstalled = false
  isMoving = true
  process.off('removeListener', onRemoved).off('exit', drainAll).off('exit', endDrain)
  isMoving = false
  if (isDeno()) removeDenoHooks()
}

/** Deno emits no 'exit' after an uncaught error, or for `Deno.exit()`. */
function installDenoHooks(): void {
  process.off('uncaughtExceptionMonitor', drainUncaught)
  appendListener('uncaughtExceptionMonitor', drainUncaught)
  const { addEventListener } = globalThis as { addEventListener?: (name: string, listener: () => void) => void }
  addEventListener?.('unload', drainAndEnd) // adding the same listener twice has no effect
}

function removeDenoHooks(): void {
  process.off('uncaughtExceptionMonitor', drainUncaught)
  const { removeEventListener } = globalThis as { removeEventListener?: (name: string, listener: () => void) => void }
  removeEventListener?.('unload', drainAndEnd)
}

function drainUncaught(): void {
  if (process.listenerCount('uncaughtException') === 0) drainAndEnd()
}

function drainAndEnd(): void {
  drainAll()
  endDrain()
}

/** True while this module itself removes its listeners. */
let isMoving = false
let isRemovalReported = false

/** Puts the listeners back if the application removes all listeners of 'exit' or of a signal. */
function onRemoved(name: string | symbol): void {
  if (isMoving || !(name === 'exit' || isListeningTo(name))) return
  queueMicrotask(reinstall)
  // At once if no listener is left, as the end may follow. Otherwise later, or `removeAllListeners` would remove the
  // new ones, too.
  if (process.listenerCount(name) === 0) reinstall()
}

function reinstall(): void {
  restoreSignalListeners()
  if (!isInstalled) return
  const listeners: unknown[] = process.listeners('exit')
  if (listeners.includes(drainAll) && listeners.includes(endDrain)) return
  installExitHooks()
  if (isRemovalReported) return
  isRemovalReported = true
  emitProcessWarning({
    code: 'LOGFERRY_EXIT',
    message:
      "logferry: the application removed all listeners of the process's 'exit' event, including those that deliver pending " +
      "events. They are installed again. Remove single listeners instead: process.off('exit', listener).",
    suppressed: 0,
  })
}

/**
 * Finishes the work at the natural end of the process, and drains it at `process.exit()`, an uncaught error or a
 * signal. One listener for each of these serves every shipper of the process.
 *
 * @param waits false if no signal needs to wait, because there is nothing to deliver
 */
export function registerDrainable(one: ExitDrainable, waits = true): void {
  if (drainables.size === 0 && exitDrain === undefined) {
    process.off('beforeExit', finishAll)
    appendListener('beforeExit', finishAll)
    installExitHooks() // again, to be before and after the handlers added since
  }
  drainables.add(one)
  if (waits && one.exitOnSignals && exitDrain === undefined) registerInterruptible(one)
}

/** Lets signals end the process at once: nothing is left to deliver, although the work is not finished. */
export function stopWaiting(one: ExitDrainable): void {
  unregisterInterruptible(one)
}

/** While the handlers of 'exit', or of a signal that ends the process, run, delivers the events that they have logged. */
export function drainIfExiting(): void {
  drainIfRaised()
  exitDrain?.drain(drainables)
  if (!isTooLate) return
  exitDrain?.end()
  exitDrain?.settle()
}

export function unregisterDrainable(one: ExitDrainable): void {
  unregisterInterruptible(one)
  if (!drainables.delete(one) || drainables.size > 0) return
  process.off('beforeExit', finishAll)
  removeIfUnused()
}

/**
 * Starts to finish all work, after the other listeners of 'beforeExit'. Node waits for it, and emits 'beforeExit' again
 * when the event loop is empty. A listener that logs each time would otherwise be one event ahead of each round, and
 * there would be rounds until the time is up. The tick comes after the promises of such listeners.
 */
function finishAll(): void {
  queueMicrotask(() => onNextTick(startToFinish))
}

function startToFinish(): void {
  for (const one of drainables) void one.finish()
}

function drainAll(): void {
  for (const release of releases) release()
  exitDrain = new ExitDrain()
  warnAtOnce()
  exitDrain.drain(drainables)
  exitDrain.end()
}

function endDrain(): void {
  const ending = exitDrain
  ending?.drain(drainables)
  ending?.end()
  ending?.settle()
  // Runs only if the application emitted 'exit' itself, and the process goes on.
  setImmediate(() => {
    ending?.end()
    warnOnNextTick()
    exitDrain = undefined
  }).unref()
}
