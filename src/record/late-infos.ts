import { builtinModule } from '../node-version.ts'
import { wallClockMs } from './clock.ts'
import { logCalls, maxDepth, maxQueued } from './log-calls.ts'
import type { Info } from './winston-info.ts'

const { AsyncResource } = builtinModule('node:async_hooks')

/** A logger of Winston: a stream, from which its transports read. */
export interface InfoStream {
  write(info: unknown, ...rest: unknown[]): boolean
  _transform(info: unknown, encoding: unknown, callback: unknown): void
  push(info: unknown, encoding?: unknown): boolean
  read(): unknown
  on(name: 'pause', listener: () => void): unknown
  off(name: 'pause', listener: () => void): unknown
  readonly _readableState?: {
    readonly flowing: boolean | null
    readonly length: number
    readonly buffer?: { readonly head?: Buffered | null }
  }
  readonly _writableState?: { readonly length: number }
}

/** What the format of the logger has made of an info already, and the ones after it. */
interface Buffered {
  readonly data: Info | false
  readonly next: Buffered | null
}

/** The late log call under way. */
let underWay: LogCall | undefined

/** The log call of an info that its logger keeps back. */
class LogCall {
  readonly info: unknown
  readonly timeMs = wallClockMs()
  /**
   * False if the call was made too deep or too often within others. `QueuedLogCalls` cannot tell that for late calls: it takes
   * the next infos of the queue for those of nested calls, but they were logged long before.
   */
  readonly isAllowed: boolean
  readonly #logger: InfoStream
  readonly #outermost: LogCall
  readonly #depth: number
  /** Number of calls within this one, if it is the outermost. */
  #calls = 0
  /** The next call whose info the format of the logger has not made. */
  next: LogCall | undefined
  readonly #resource = new AsyncResource('logferry', { requireManualDestroy: true })

  constructor(info: unknown, logger: InfoStream) {
    this.info = info
    this.#logger = logger
    this.#outermost = underWay === undefined ? this : underWay.#outermost
    this.#depth = underWay === undefined ? Math.min(logCalls.depth, 1) : underWay.#depth + 1
    this.isAllowed = this.#depth < maxDepth && this.#outermost.#calls++ <= maxQueued
    this.#resource.emitDestroy() // it holds nothing open: otherwise Jest reports it with `--detectOpenHandles`
  }

  /** True if the logger keeps nothing else back. */
  get isLast(): boolean {
    return keptCount(this.#logger) === 0
  }

  /** Calls a function with each `AsyncLocalStorage` as it was in the log call. */
  run(ship: () => void): void {
    const outer = underWay
    underWay = this
    try {
      this.#resource.runInAsyncScope(ship)
    } finally {
      underWay = outer
    }
  }
}

/**
 * The log calls of the infos that loggers pass on next. A property of the info would be printed by `format.prettyPrint()`. A
 * WeakMap of all infos that are kept back would double the time of a log call.
 *
 * The infos that a logger got last stay until its next log call. A Map would keep a logger without one for ever.
 */
const nextCalls = new WeakMap<object, LogCall>()
/** Number of loggers whose log calls are noted. Without any, no info is looked up. */
let behind = 0

const followed = new WeakMap<InfoStream, FollowedLogger>()

/**
 * Notes the log call of each info that a logger keeps back, and calls `onKept` after it. A logger waits for its slowest
 * transport, such as a file. It then passes infos on within other work, whose context and time are wrong for them.
 */
export function noteLateInfos(logger: InfoStream, onKept: () => void): void {
  const stream = streamOf(logger)
  if (stream === undefined) return
  const one = followed.get(stream) ?? new FollowedLogger(stream)
  followed.set(stream, one)
  one.add(onKept)
}

export function forgetLateInfos(logger: InfoStream, onKept: () => void): void {
  const stream = streamOf(logger)
  if (stream !== undefined) followed.get(stream)?.delete(onKept)
}

/**
 * Returns the log call of an info that its logger has kept back. Returns `undefined` for an object that the application
 * logs again after that.
 */
export function logCallOf(info: object): LogCall | undefined {
  return behind === 0 ? undefined : nextCalls.get(info)
}

/** Returns the number of infos that a logger keeps back. */
export function keptCount({ _readableState, _writableState }: InfoStream): number {
  return (_readableState?.length ?? 0) + (_writableState?.length ?? 0)
}

/**
 * Returns the infos that an ended logger keeps back: its format has made all of them. A format makes `false` of an info
 * that it drops, and Winston passes that on as well.
 */
export function keptAtEnd({ _readableState }: InfoStream): Info[] {
  const infos: Info[] = []
  for (let next = _readableState?.buffer?.head; next; next = next.next) {
    if (typeof next.data === 'object') infos.push(next.data)
  }
  return infos
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

/** Returns the logger from which a child has its stream. A child passes its log calls on to that logger. */
function streamOf(logger: InfoStream): InfoStream | undefined {
  let stream: InfoStream | null = logger
  while (stream !== null && !Object.hasOwn(stream, '_readableState')) stream = Object.getPrototypeOf(stream)
  return typeof stream?.write === 'function' && typeof stream._transform === 'function' ? stream : undefined
}

/** A logger. Tells its listeners when it keeps an info back. */
class FollowedLogger {
  readonly #logger: InfoStream
  readonly #listeners = new Set<() => void>()
  /** Puts the methods of the logger back that note log calls. */
  #restore: (() => boolean) | undefined
  /** The log calls whose infos the format of the logger has not made, the oldest and the newest of them. */
  #first: LogCall | undefined
  #last: LogCall | undefined
  /** The log call whose info the format is making. */
  #formatting: LogCall | undefined
  /** The infos that the format has made, in `nextCalls`. */
  readonly #made: object[] = []

  constructor(logger: InfoStream) {
    this.#logger = logger
  }

  add(onKept: () => void): void {
    if (this.#listeners.size === 0) this.#logger.on('pause', this.#note)
    this.#listeners.add(onKept)
    if (this.#isBehind()) this.#note()
  }

  delete(onKept: () => void): void {
    if (!this.#listeners.delete(onKept) || this.#listeners.size > 0) return
    this.#logger.off('pause', this.#note)
    if (keptCount(this.#logger) === 0) this.#stop()
  }

  /** True if an info that is logged now has to wait. The logger passes on older infos first, even when it flows again. */
  #isBehind(): boolean {
    return this.#logger._readableState?.flowing === false || keptCount(this.#logger) > 0
  }

  /** Notes each log call until the first one after the logger has caught up. Other log calls take no time for it. */
  readonly #note = (): void => {
    if (this.#restore === undefined && Object.isExtensible(this.#logger)) this.#override()
  }

  #override(): void {
    const one = this
    const { write, _transform, push } = this.#logger
    this.#restore = replaced(this.#logger, {
      write(this: InfoStream, info: unknown, ...rest: unknown[]): boolean {
        if (!one.#isBehind()) {
          one.#stop()
          return write.call(this, info, ...rest)
        }
        one.#begin(info)
        try {
          return write.call(this, info, ...rest)
        } finally {
          one.#end()
        }
      },
      _transform(this: InfoStream, info: unknown, encoding: unknown, callback: unknown): void {
        const outer = one.#formatting
        one.#formatting = one.#next(info)
        try {
          _transform.call(this, info, encoding, callback)
        } finally {
          one.#formatting = outer
        }
      },
      push(this: InfoStream, info: unknown, encoding?: unknown): boolean {
        one.#keep(info)
        return push.call(this, info, encoding)
      },
    })
    behind++
  }

  #begin(info: unknown): void {
    try {
      const call = new LogCall(info, this.#logger)
      if (this.#last === undefined) this.#first = call
      else this.#last.next = call
      this.#last = call
    } catch {
      // The stack ends.
    }
  }

  #end(): void {
    if (this.#logger._writableState?.length === 0) this.#first = this.#last = undefined // an ended logger takes no info
    try {
      for (const onKept of this.#listeners) onKept()
    } catch {
      // The stack ends.
    }
  }

  /** Returns the log call of the info that comes next, unless the info was logged before calls were noted. */
  #next(info: unknown): LogCall | undefined {
    const call = this.#first
    if (call === undefined || call.info !== info) return undefined
    this.#first = call.next
    if (this.#first === undefined) this.#last = undefined
    call.next = undefined // otherwise a call that is no longer needed keeps later ones from being collected early
    return call
  }

  #keep(info: unknown): void {
    const call = this.#formatting
    if (call === undefined || typeof info !== 'object' || info === null) return
    nextCalls.set(info, call)
    this.#made.push(info)
    // The transports have the others, except for the info that they are just getting.
    while (this.#made.length > (this.#logger._readableState?.length ?? 0) + 2)
      nextCalls.delete(this.#made.shift() as object)
  }

  #stop(): void {
    this.#first = this.#last = undefined
    for (const info of this.#made.splice(0)) nextCalls.delete(info)
    if (this.#restore?.() !== true) return
    this.#restore = undefined
    behind--
  }
}

/**
 * Replaces methods of an object. The returned function puts them back, and returns true. If others have replaced a method
 * once more, that function does nothing, and returns false.
 */
function replaced<T extends object>(target: T, methods: Partial<T>): () => boolean {
  const names = Object.keys(methods) as (keyof T)[]
  const originals = names.map(name => ({ name, method: target[name], isOwn: Object.hasOwn(target, name) }))
  Object.assign(target, methods)
  return () => {
    if (names.some(name => target[name] !== methods[name])) return false
    // The last one first: an object whose last property is deleted stays fast.
    for (const { name, method, isOwn } of originals.toReversed()) {
      if (isOwn) target[name] = method
      else delete target[name]
    }
    return true
  }
}
