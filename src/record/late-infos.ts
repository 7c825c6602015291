import { builtinModule } from '../node-version.ts'
import { wallClockMs } from './clock.ts'
import type { Info } from './winston-info.ts'

const { AsyncResource } = builtinModule('node:async_hooks')

/** A logger of Winston: a stream, from which its transports read. */
export interface InfoStream {
  write(info: unknown, ...rest: unknown[]): boolean
  read(): unknown
  on(name: 'pause', listener: () => void): unknown
  readonly _readableState?: { readonly flowing: boolean | null; readonly length: number }
  readonly _writableState?: { readonly length: number }
}

/** A time in which a logger keeps infos back. */
interface Delay {
  isOver: boolean
}

/** The log call of an info that its logger keeps back. */
class LogCall {
  readonly timeMs = wallClockMs()
  readonly delay: Delay
  readonly #resource = new AsyncResource('logferry', { requireManualDestroy: true })

  constructor(delay: Delay) {
    this.delay = delay
    this.#resource.emitDestroy() // it holds nothing open: otherwise Jest reports it with `--detectOpenHandles`
  }

  /** Calls a function with each `AsyncLocalStorage` as it was in the log call. */
  run(ship: () => void): void {
    this.#resource.runInAsyncScope(ship)
  }
}

/** A symbol, because formats copy the symbols of an info. */
const logCall = Symbol('logferry.logCall')

/** Number of loggers that keep infos back. Without any, no info is looked at. */
let delays = 0
/** The transports that are told of infos that a logger keeps back. */
const listenersOf = new WeakMap<InfoStream, Set<() => void>>()

/**
 * Notes the log call of each info that a logger keeps back, and calls `onKept`. A logger waits for its slowest transport, such
 * as a file. It then passes infos on within other work, whose context and time are wrong for them.
 */
export function noteLateInfos(logger: InfoStream, onKept: () => void): void {
  const listeners = listenersOf.get(logger) ?? follow(logger)
  listeners.add(onKept)
}

export function forgetLateInfos(logger: InfoStream, onKept: () => void): void {
  listenersOf.get(logger)?.delete(onKept)
}

/**
 * Returns the log call of an info that its logger has kept back. Returns `undefined` for an object that the application
 * logs again after that.
 */
export function logCallOf(info: Info): LogCall | undefined {
  if (delays === 0) return undefined
  const call = info[logCall] as LogCall | undefined
  return call?.delay.isOver === false ? call : undefined
}

/** Returns the number of infos that a logger keeps back. */
export function keptCount({ _readableState, _writableState }: InfoStream): number {
  return (_readableState?.length ?? 0) + (_writableState?.length ?? 0)
}

/** Makes a logger pass on the infos that it keeps back. A slow transport has to queue them itself. */
export function passOnNow(logger: InfoStream): void {
  for (let left = keptCount(logger); left > 0; left--) {
    try {
      logger.read()
    } catch {
      // A format threw, or a transport that was ended before: Winston ends transports that still lack infos.
    }
  }
}

function follow(logger: InfoStream): Set<() => void> {
  const listeners = new Set<() => void>()
  listenersOf.set(logger, listeners)
  let isNoting = false
  logger.on('pause', () => {
    if (isNoting) return
    isNoting = true
    noteUntilResumed(logger, listeners, () => {
      isNoting = false
    })
  })
  return listeners
}

/** Notes each log call until the first one after the logger has caught up. Other log calls take no time for it. */
function noteUntilResumed(logger: InfoStream, listeners: ReadonlySet<() => void>, onResumed: () => void): void {
  const { write } = logger
  const delay = { isOver: false }
  const noting = function (this: InfoStream, info: unknown, ...rest: unknown[]): boolean {
    if (logger._readableState?.flowing === false) {
      noteKept(info, delay, listeners)
    } else if (logger.write === noting) {
      logger.write = write
      delay.isOver = true
      delays--
      onResumed()
    }
    return write.call(this, info, ...rest)
  }
  logger.write = noting
  delays++
}

function noteKept(info: unknown, delay: Delay, listeners: ReadonlySet<() => void>): void {
  try {
    for (const onKept of listeners) onKept()
    ;(info as Info)[logCall] = new LogCall(delay)
  } catch {
    // The info is frozen, or the stack ends.
  }
}
