import { isPromise } from 'node:util/types'
import TransportStream from 'winston-transport'
import { emitProcessWarning, type Warning } from './accounting/diagnostics.ts'
import type { Severity } from './accounting/severity.ts'
import { invalidOption } from './errors.ts'
import { described, describedWord } from './options/described.ts'
import { ownProperties } from './own-properties.ts'
import { bothWays, noteMessage } from './record/both-ways.ts'
import { wallClockMs } from './record/clock.ts'
import {
  forgetLateInfos,
  type InfoStream,
  keptAtEnd,
  keptCount,
  logCallOf,
  noteLateInfos,
  passOnNow,
} from './record/late-infos.ts'
import { beginLogCall, logCalls, QueuedLogCalls } from './record/log-calls.ts'
import { loggedLine } from './record/logged-line.ts'
import { errorBehind } from './record/lost-error.ts'
import { activeTraceIds } from './record/trace-context.ts'
import { handleRejection } from './record/unheard-rejection.ts'
import { type Info, loggedLevel } from './record/winston-info.ts'
import { plainInfo, severityOfInfo, winstonToEvent } from './record/winston-to-event.ts'
import type { LateSource } from './shipper/held-events.ts'
import { intakeEvent } from './shipper/intake/intake-event.ts'
import { lateTime } from './shipper/intake/late-time.ts'
import { OpenCallbacks, once } from './shipper/open-callbacks.ts'
import type { Shipper } from './shipper/shipper.ts'
import { namedOptions, type ShipperOrOptions, shipperOf } from './shipper/shipper-of.ts'
import { kindOfValue } from './text/kind-of-value.ts'
import { queueMicrotask } from './time.ts'

/** Severity of an info that cannot be read: info. */
const usualSeverity = 2

/** Winston's own options of a transport. */
interface WinstonOptions {
  /**
   * The least severe level to ship. A level that the logger does not have ships nothing, and causes a warning.
   *
   * @defaultValue the level of the logger
   */
  level?: string | undefined
  /**
   * A format for this transport alone. None is needed: events are shipped as they are logged, which is also fastest.
   *
   * Changes that a format makes to the info are shipped, except to its level. A text that it makes is not, such as that
   * of `format.json()` with a `replacer`.
   *
   * @defaultValue none
   */
  format?: TransportStream.TransportStreamOptions['format']
  /**
   * Ships nothing if true.
   *
   * @defaultValue false
   */
  silent?: boolean | undefined
  /**
   * Logs uncaught exceptions if true.
   *
   * @defaultValue false
   */
  handleExceptions?: boolean | undefined
  /**
   * Logs unhandled rejections if true.
   *
   * @defaultValue false
   */
  handleRejections?: boolean | undefined
}

/**
 * Options of `LogferryTransport`: Winston's own, and an existing `shipper` or the options for a shipper of the
 * transport's own.
 */
export type LogferryTransportOptions = WinstonOptions & ShipperOrOptions

/**
 * Winston transport that ships every event to a dataset of the service.
 *
 * Delivery trouble never surfaces as an `'error'` event. A transport with a shipper of its own emits `'warn'`, which
 * the logger repeats: of several loggers, the first with a listener. If neither the transport nor a logger has a
 * listener for `'warn'`, nor the shipper one for `warning`, Node prints a process warning. Warnings of a shared shipper
 * go to the `warning` listeners of that shipper.
 *
 * `logger.end()` waits for delivery, for `flushTimeoutMs` at most. A shipper of the transport's own is then closed.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if an option is missing or malformed
 * @throws Error if Node is older than 22.19
 */
export class LogferryTransport extends TransportStream {
  readonly name = 'logferry'
  /** The shipper that delivers the events: `transport.shipper.stats()`, `transport.shipper.on('rejected', …)`. */
  readonly shipper: Shipper
  readonly #isOwn: boolean
  /** The loggers that have this transport now. The first of them decides on `level` and `levels`. */
  readonly #loggers: ParentLogger[] = []
  /** The logger that had this transport last, if none has it now. */
  #lastLogger: ParentLogger | undefined
  /** The logger that emitted one of the last infos, and most likely emits the next one. */
  #latestEmitter: ParentLogger | undefined
  #queue = new QueuedLogCalls()
  /** The info that is being written, before the transport's own format. */
  #written: Info | undefined
  readonly #openCallbacks = new OpenCallbacks()
  #lastUncaught: unknown
  /** True once Winston has caught an error. */
  #hasCaught = false
  /** True once the loggers were searched for OpenTelemetry's transport, after a text had come both ways. */
  #hasLookedForBridge = false
  /** The listeners by which Winston waits for the delivery of uncaught errors. */
  readonly #waiting: Waiting[] = []
  readonly #noteWaiting = (name: string, listener: () => void): void => {
    if (name !== 'finish' && name !== 'error') return
    this.#waiting.push({ name, listener })
    if (name === 'error') this.off('newListener', this.#noteWaiting)
  }
  /**
   * Tells Winston of the delivery of an uncaught error that has not come, or cannot be told from others: the logger is
   * silent, or its format has dropped the error, or has moved what marks it, as `format.metadata()` does.
   */
  readonly #answerUnmarked = (): void => {
    // From the handlers of a logger that is behind, from a corked stream or a subclass, the error may still come.
    const isCertain = this.#loggers.length > 0 && this.writableLength === 0 && this.log === ownLog
    if (this.#waiting.length > 0 && isCertain && !this.#lateInfos.isLate()) this.#deliverCaught()
  }
  /** The infos that loggers keep back for other transports. The end of the process does not wait for these transports. */
  readonly #lateInfos: LateSource = {
    isLate: () => this.#loggers.some(logger => keptCount(logger) > 0),
    passOnNow: () => this.#loggers.forEach(passOnNow),
  }
  readonly #onKept = (): void => this.shipper.heldEvents.onLate(this.#lateInfos)
  /** The infos that were taken before their logger passed them on. */
  #takenAtEnd: WeakSet<object> | undefined
  /** Number of events of this transport that the shipper has kept or dropped, or that are below the minimum severity. */
  #answers = 0
  /** The last call of `close()`, until the transport logs again or is added to a logger. */
  #closing: object | undefined
  /** Set by Winston while the transport belongs to a logger. */
  declare parent?: ParentLogger | null
  /** Set by Winston together with `parent`. */
  declare levels?: Readonly<Record<string, number>> | undefined
  /**
   * @internal Keeps Winston from adding a listener by which the logger repeats `'warn'`. That listener would always belong
   * to the first logger, also after the transport has moved to another one.
   */
  readonly __winstonwarn = true
  /** @internal State of the stream. */
  declare readonly _writableState: { readonly corked: number }

  constructor(options: LogferryTransportOptions = {}) {
    const { level, format, silent, handleExceptions, handleRejections, ...shipping } = namedOptions(options)
    const winstonOptions = { level, format, silent, handleExceptions, handleRejections }
    checkFormat(format)
    for (const [name, given] of Object.entries({ silent, handleExceptions, handleRejections })) checkFlag(name, given)
    super(ownProperties(winstonOptions) as TransportStream.TransportStreamOptions)
    this.setMaxListeners(maxListeners)
    // Winston's own listeners run once, for one logger. But `logger.configure()` removes a transport and adds it again.
    this.removeAllListeners('pipe').removeAllListeners('unpipe')
    this.on('pipe', logger => this.#join(logger as unknown as ParentLogger))
    this.on('unpipe', logger => this.#leave(logger as unknown as ParentLogger))
    const { shipper, isOwn } = shipperOf(shipping as ShipperOrOptions, Object.keys(winstonOptions))
    this.shipper = shipper
    this.#isOwn = isOwn
    if (isOwn) shipper.on('warning', warning => this.#warn(warning, shipper.warningListeners > 1))
  }

  /**
   * @internal Set by Winston when it has caught an error. Winston then adds a listener for 'finish' and one for 'error',
   * and logs the error.
   */
  set _ending(hasCaught: boolean) {
    this.#hasCaught = hasCaught
    this.on('newListener', this.#noteWaiting)
    queueMicrotask(this.#answerUnmarked) // Winston logs the error within the same call
  }

  /**
   * Takes an info; the logger calls it for each one. The `write` of a stream counts its buffer, delays callbacks to the
   * next tick, and fails while another logger of the same transport is ending. None of that is needed unless the stream
   * is corked, because `log` ships each event at once.
   *
   * A subclass may call its callback later, and gets the next info meanwhile. A logger that is asked to wait would lose
   * its queue when it ends. The end of the stream waits for the callbacks.
   */
  override write(info: unknown, callback?: Written): boolean
  override write(info: unknown, encoding: BufferEncoding, callback?: Written): boolean
  override write(info: unknown, ...rest: unknown[]): boolean {
    if (rest.length > 0 || info === null || this._writableState.corked > 0) return super.write(info, ...(rest as []))
    if (this.#takenAtEnd?.has(info as object)) return true
    const answers = this.#answers
    try {
      this._write(info as Info, 'utf8', this.log === ownLog ? ignore : this.#openCallbacks.open())
      if (logCallOf(info as Info)?.isLast) this.shipper.heldEvents.onCaughtUp()
    } catch {
      if (this.#answers === answers) this.shipper.intakeDropCounts.error[usualSeverity]++ // the stack ended
    }
    return true
  }

  /** As Winston's own `_write`, but the transport's format gets an Error with all its fields. */
  override _write(info: Info, _encoding: BufferEncoding, callback: Written): void {
    this.#write(info, callback === ignore ? callback : this.#answered(callback))
  }

  /**
   * As `_write`, for the infos that a corked stream has buffered. Errors are counted as dropped events, not thrown. A
   * throw would interrupt the stream in its work, and the stream would never end.
   */
  override _writev(chunks: Chunk[], callback: Written): void {
    if (hasBulkLog(this)) return super._writev?.(chunks as never, callback)
    let left = chunks.length
    const written = () => {
      if (--left === 0) callback(null)
    }
    for (const { chunk } of chunks) {
      try {
        this.#write(chunk, this.#answered(written))
      } catch (error) {
        this.shipper.dropFor(error)
      }
    }
  }

  /**
   * Returns a callback for the `log` of a subclass. An error that the subclass passes on is reported: to the stream, it
   * would be an `'error'` event, with which Winston removes the transport.
   */
  #answered(callback: () => void): Written {
    const answer = once(callback)
    return error => {
      if (error != null) this.shipper.reportFailed(subclassName, error)
      answer()
    }
  }

  #write(info: Info, written: Written): void {
    const answers = this.#answers
    const outer = this.#written // whose format logs this info through another logger
    try {
      this.#written = info
      if (this.#isWanted(info)) this.#takeFormatted(info, written)
      else this.#leaveOut(info, written)
    } catch (error) {
      if (this.log === ownLog) {
        written()
        throw error // the stack ended
      }
      // A throw would reach the log call, and the transports after this one would not get the info.
      if (this.#answers === answers) {
        this.#leaveOut(info, written)
        this.shipper.dropFor(error, subclassName)
      } else {
        written()
        this.shipper.reportThrown(subclassName, error)
      }
    } finally {
      this.#written = outer
    }
  }

  #isWanted(info: Info): boolean {
    if (this.silent || (info.exception === true && !this.handleExceptions && !this.#isWantedAnyway(info))) return false
    const level = this.level || this.parent?.level
    if (!level || this.levels === undefined) return true
    const ofUnknown = this.#isUncaught(info) ? 0 : Number.NaN // custom levels may lack `error`, the level of uncaught errors
    return (this.levels[level] as number) >= (this.levels[info[loggedLevel] as string] ?? ofUnknown)
  }

  /**
   * False for an uncaught exception. Winston marks it by `exception: true`, as an application may mark events of its own.
   * Winston before 3.13 marks rejections so, too.
   */
  #isWantedAnyway({ message, trace }: Info): boolean {
    const text = typeof message === 'string' ? message : ''
    if (text.includes('unhandledRejection: ')) return this.handleRejections === true
    return !text.includes('uncaughtException: ') && !Array.isArray(trace)
  }

  #takeFormatted(info: Info, written: Written): void {
    const formatted = this.#formatted(info)
    if (formatted === undefined) this.#leaveOut(info, written)
    else this.#callLog(formatted, written)
  }

  /** Answers for an info that is not to be shipped, or fails. Winston waits for the end of an uncaught error. */
  #leaveOut(info: Info, written: Written): void {
    if (this.#isUncaught(info)) this.#deliverUncaught(info)
    written()
  }

  /** The `log` of a subclass may be asynchronous. Its rejection counts as an error that it passes to the callback. */
  #callLog(info: Info, written: Written): void {
    const returned = this.log(info, written)
    if (returned !== true) handleRejection(returned, written)
  }

  /**
   * Returns what the transport's own format makes of an info, or `undefined` if the format leaves the info out. If the
   * format fails, the event is dropped: unformatted, it might have a secret that the format masks.
   */
  #formatted(info: Info): Info | undefined {
    const { format } = this
    if (format == null) return info
    try {
      const formatted: unknown = format.transform(plainInfo(info) as never, format.options)
      if (!formatted) return undefined
      if (typeof formatted === 'object' && !isPromise(formatted)) return formatted as Info
      handleRejection(formatted)
      const kind = isPromise(formatted) ? 'a promise' : kindOfValue(formatted)
      this.shipper.dropFor(new TypeError(`${kind} was returned, not an info`), formatName)
    } catch (error) {
      this.shipper.dropFor(error, formatName)
    }
    return undefined
  }

  /**
   * Ships an info; it is called for each one. The info is serialized at once. A subclass that overrides `log` must call
   * `callback` once, as with any stream. If it passes an error, a warning (`LOGFERRY_CALLBACK_THREW`) reports that.
   */
  override log(info: object, callback?: () => void): unknown {
    this.#closing = undefined
    if (this.#written === undefined && this.#isUncaught(info as Info)) this.#logUncaught(info as Info, callback)
    else this.#logFormatted(info as Info, callback)
    return true
  }

  /** Takes an error from `exceptionHandlers` or `rejectionHandlers`: Winston passes it on past `silent` and the format. */
  #logUncaught(info: Info, callback: () => void = ignore): void {
    this.#written = info
    try {
      const formatted = this.silent ? undefined : this.#formatted(info)
      if (formatted === undefined) this.#leaveOut(info, callback)
      else this.#logFormatted(formatted, callback)
    } finally {
      this.#written = undefined
    }
  }

  #logFormatted(info: Info, callback: (() => void) | undefined): void {
    const late = logCallOf(this.#written ?? info)
    if (late !== undefined) late.run(() => this.#logOnce(info, late.isAllowed, callback))
    else if (logCalls.depth > 0) this.#logOnce(info, true, callback)
    else this.#logQueued(info, callback)
  }

  #logQueued(info: Info, callback: (() => void) | undefined): void {
    const queued = this.#queuedInfos()
    try {
      this.#logOnce(info, this.#queue.begin(this.#written ?? info, this.#isFromQueue), callback)
    } finally {
      try {
        this.#queue.end(this.#queuedInfos() - queued)
      } catch {
        // Out of stack: infos queued meanwhile do not count as nested log calls.
      }
    }
  }

  #logOnce(info: Info, mayLog: boolean, callback: (() => void) | undefined): void {
    if (!mayLog || !beginLogCall()) {
      this.shipper.dropNested()
      this.#answers++
      callback?.()
      return
    }
    try {
      this.#take(info)
      callback?.()
      if (this.listenerCount('logged') > 0) this.#emitLogged(info)
    } finally {
      logCalls.depth--
    }
  }

  /** Tells listeners that an info has been taken. To a caller, an error of a listener would be one of the info. */
  #emitLogged(info: Info): void {
    try {
      this.emit('logged', info)
    } catch (error) {
      this.shipper.reportThrown("a listener for 'logged'", error)
    }
  }

  #take(info: Info): void {
    const given = this.#written ?? info // the format may have left out what marks an uncaught error
    const isUncaught = this.#isUncaught(given)
    // A transport in both `transports` and `exceptionHandlers` gets the same error twice, in copies if the logger has a format.
    const isRepeated = isUncaught && given.trace !== undefined && given.trace === this.#lastUncaught
    if (!isRepeated) {
      const severity = severityOfInfo(info)
      if (this.shipper.isBelowMinimum(severity)) this.#answers++
      else this.#ship(info, severity)
    }
    if (isUncaught) this.#deliverUncaught(given)
  }

  #isUncaught(info: Info): boolean {
    return this.#hasCaught && (info.exception === true || info.rejection === true)
  }

  #ship(info: Info, severity: Severity): void {
    const late = logCallOf(this.#written ?? info)
    const time = late === undefined ? wallClockMs() : lateTime(late.timeMs)
    const error = late === undefined ? this.#errorBehind(info) : errorBehind(info, late.info)
    const event = winstonToEvent(info, activeTraceIds(info), error)
    const preSerialized = event === info ? loggedLine(info, this.parent, this) : undefined
    const intake = intakeEvent(event, severity, time)
    intake.preSerialized = preSerialized
    this.shipper.take(intake)
    this.#answers++
    if (bothWays.isBridged) this.#watchBothWays(info)
  }

  /** Returns the Error from which a format made `info`. Any logger that shares this transport may be emitting the info. */
  #errorBehind(info: Info): Error | undefined {
    const emitted = this.#written ?? info
    if (this.#latestEmitter?._transformState?.writechunk === emitted) return undefined
    const oldest = Math.max(0, this.#loggers.length - maxSearchedLoggers)
    for (let i = this.#loggers.length - 1; i >= oldest; i--) {
      const logged = this.#loggers[i]?._transformState?.writechunk
      if (logged === emitted) {
        this.#latestEmitter = this.#loggers[i]
        return undefined
      }
      const error = errorBehind(info, logged)
      if (error !== undefined) return error
    }
    return undefined
  }

  #watchBothWays(info: Info): void {
    noteMessage(info.message)
    if (!bothWays.isFound || this.#hasLookedForBridge) return
    this.#hasLookedForBridge = true
    if (isToldOfBothWays || !this.#loggers.slice(0, maxFollowedLoggers).some(isBridged)) return
    isToldOfBothWays = true
    this.#warn({ code: 'LOGFERRY_DUPLICATE', message: shippedTwice, suppressed: 0 })
  }

  /**
   * Returns the number of infos in the queues of the loggers. An info is queued if it is logged while another one is
   * being shipped.
   */
  #queuedInfos(): number {
    let count = 0
    const loggers = Math.min(this.#loggers.length, maxFollowedLoggers)
    for (let i = 0; i < loggers; i++) count += this.#loggers[i]?._writableState?.length ?? 0
    return count
  }

  /** True if the info may have waited in the queue of its logger: a logger empties its queue, or works after a write. */
  readonly #isFromQueue = (): boolean =>
    this.#loggers.slice(0, maxFollowedLoggers).some(({ _writableState: state }) => {
      return state?.bufferProcessing !== false || (state.writing === true && state.sync === false)
    })

  /** Delivers pending events when the logger ends. The logger's `'finish'` event waits for the callback. */
  override _final(callback: () => void): void {
    for (const logger of this.#loggers) this.#takeRest(logger)
    void this.#deliver().then(() => callback())
  }

  /** Takes the infos that an ended logger keeps back. Winston ends transports before they have these infos. */
  #takeRest(logger: ParentLogger): void {
    for (const info of keptAtEnd(logger)) {
      this.write(info)
      this.#takenAtEnd ??= new WeakSet()
      this.#takenAtEnd.add(info)
    }
  }

  /**
   * Delivers pending events after the transport is removed or its logger is closed; Winston calls it. The transport can
   * be added again, and continues.
   *
   * If the transport is unused until the delivery ends, after `flushTimeoutMs` at most, it closes its own shipper.
   * Events that are still undelivered are then dropped, or handed off to the spool. If others came meanwhile, from the
   * application itself or another transport, the shipper stays open.
   */
  override close(): void {
    const closing = {}
    this.#closing = closing
    const flushed = this.#flushInBackground()
    const { acceptedHere } = this.shipper
    void flushed.then(() => {
      if (!this.#isOwn || this.#closing !== closing) return
      const { pending, held } = this.shipper.stats()
      const isEmpty = pending === held
      if (isEmpty || this.shipper.acceptedHere === acceptedHere) void this.shipper.close({ timeoutMs: 0 })
    })
  }

  /** Flushes. If the stack is nearly used up, flushes once it is free again. */
  #flushInBackground(): Promise<void> {
    return this.shipper.flushInBackground().catch(() => this.shipper.flushInBackground())
  }

  async #deliver(): Promise<void> {
    const timeoutMs = await this.#openCallbacks.wait(this.shipper.flushTimeoutMs)
    await (this.#isOwn ? this.shipper.close({ timeoutMs }) : this.shipper.flush({ timeoutMs }))
  }

  #join(logger: ParentLogger): void {
    this.#loggers.push(logger)
    this.#lastLogger = undefined
    noteLateInfos(logger, this.#onKept)
    this.#closing = undefined
    this.#follow()
    this.#checkLevel(logger)
  }

  #leave(logger: ParentLogger): void {
    const at = this.#loggers.indexOf(logger)
    if (at < 0) return
    this.#loggers.splice(at, 1)
    if (!this.#loggers.includes(logger)) forgetLateInfos(logger, this.#onKept)
    if (this.#latestEmitter === logger) this.#latestEmitter = undefined // so that it does not stay in memory
    this.#follow()
    if (this.#loggers.length > 0) return
    this.#lastLogger = logger
    this.close()
  }

  #follow(): void {
    this.parent = this.#loggers[0] ?? null
    if (this.parent === null) return
    this.levels = this.parent.levels
    this.#queue = queueOf(this.parent)
  }

  /** Warns if the logger does not have the level. Winston would ship nothing, without a message. */
  #checkLevel({ level: loggersLevel, levels }: ParentLogger): void {
    const level = this.level || loggersLevel
    if (!level || levels === undefined || Object.hasOwn(levels, level)) return
    const expected = `one of the logger's levels (${Object.keys(levels).join(', ')}), or nothing is shipped`
    const { code, message } = invalidOption('level', expected, describedWord(level), 'range')
    this.#warn({ code, message, suppressed: 0 })
  }

  #deliverUncaught(info: Info): void {
    this.#lastUncaught = info.trace
    this.#deliverCaught()
  }

  /**
   * Delivers an uncaught error, and tells Winston, which then ends the process, or does so after three seconds. Winston waits
   * for 'finish'. Its listeners are called without that event, which would remove the transport from its loggers.
   */
  #deliverCaught(): void {
    const waiting = this.#waiting.splice(0)
    void allDelivered(this.#flushInBackground()).then(() => {
      for (const { name, listener } of waiting) this.off(name, listener)
      for (const { name, listener } of waiting) if (name === 'finish') listener()
    })
  }

  /** As for any stream, but the logger repeats a `'warn'` event of a subclass, as Winston does for its own transports. */
  override emit(name: string | symbol, ...values: unknown[]): boolean {
    const isHeard = super.emit(name, ...values)
    if (name !== 'warn') return isHeard
    return this.#warnedLogger()?.emit('warn', values[0], this) === true || isHeard
  }

  #warn(warning: Warning, isHeard = false): void {
    const { code, message, suppressed } = warning
    const error = Object.assign(new Error(message), { code, suppressed })
    const logger = this.#warnedLogger()
    if (!super.emit('warn', error) && logger === undefined && !isHeard) emitProcessWarning(warning)
    logger?.emit('warn', error, this)
  }

  /** Returns the first logger with a listener for `'warn'`. */
  #warnedLogger(): ParentLogger | undefined {
    const last = this.#lastLogger
    return (last === undefined ? this.#loggers : [last]).find(logger => logger.listenerCount('warn') > 0)
  }
}

const ownLog = LogferryTransport.prototype.log

/** Code of the application that runs within a log call, in warnings. */
const formatName = 'the format of the transport'
const subclassName = 'log() of a subclass of the transport'

let isToldOfBothWays = false
const shippedTwice =
  'logferry: Winston log calls are shipped twice: by LogferryTransport, and as OpenTelemetry log records. ' +
  'The OpenTelemetry instrumentation adds a transport of its own to each logger. Remove LogferryTransport, or turn ' +
  'that transport off: new WinstonInstrumentation({ disableLogSending: true }).'

type Written = (error?: Error | null) => void

/** An info that a corked stream has buffered. */
interface Chunk {
  readonly chunk: Info
}

function ignore(): void {}

/** Winston calls the format without a check, so that any other value would throw in each log call. */
function checkFormat(format: unknown): void {
  if (format == null || typeof (format as { transform?: unknown }).transform === 'function') return
  throw invalidOption('format', 'a format such as winston.format.json(), with its parentheses', described(format))
}

/** To Winston any text is true, also `'false'` from the environment. */
function checkFlag(name: string, given: unknown): void {
  if (given !== undefined && typeof given !== 'boolean')
    throw invalidOption(name, 'true or false', describedWord(given))
}

/** True if a logger also passes its infos to OpenTelemetry. Two loggers may log the same text, each by one way. */
function isBridged({ transports = [] }: ParentLogger): boolean {
  return transports.some(transport => /^OpenTelemetryTransport/.test(transport?.constructor?.name))
}

/** True if a subclass takes many infos at once. Winston's own `_writev` passes them to its `logv`. */
function hasBulkLog(transport: TransportStream): boolean {
  return typeof transport.logv === 'function'
}

/**
 * Number of listeners from which on Node warns of a leak, as for Winston's console. Each logger that shares a transport
 * adds a listener to some events, and an application may have a logger for each of its modules.
 */
const maxListeners = 30

/**
 * Maximum number of loggers whose queues are read, twice in each log call. An application may create a logger for each
 * request.
 */
const maxFollowedLoggers = 8

/** Maximum number of loggers among which the one that is emitting an info is searched for, the latest first. */
const maxSearchedLoggers = 1000

/** The queued calls of each logger, which its transports share. */
const queues = new WeakMap<ParentLogger, QueuedLogCalls>()

function queueOf(logger: ParentLogger): QueuedLogCalls {
  const queue = queues.get(logger) ?? new QueuedLogCalls()
  queues.set(logger, queue)
  return queue
}

interface ParentLogger extends InfoStream {
  /** The info that the logger is emitting, as it was logged. */
  readonly _transformState?: { readonly writechunk?: unknown }
  readonly level?: string
  readonly levels?: Readonly<Record<string, number>>
  readonly transports?: readonly object[]
  readonly _writableState?: {
    readonly length: number
    /** True while the stream works on an info. */
    readonly writing?: boolean
    /** True if it does so within the call that wrote the info, or while it empties its queue. */
    readonly sync?: boolean
    /** True while the stream empties its queue. */
    readonly bufferProcessing?: boolean
  }
  listenerCount(name: string): number
  emit(name: string, ...values: unknown[]): unknown
}

/** A listener that Winston has added to wait for the delivery of an uncaught error. */
interface Waiting {
  readonly name: 'finish' | 'error'
  readonly listener: () => void
}

/** The deliveries of uncaught errors under way, by all transports. */
const uncaughtDeliveries = new Set<Promise<void>>()

/**
 * Waits for a delivery, and for those of other loggers that have caught the same error. The first logger that is told of
 * its delivery ends the process. The requests of others would be broken off and made again, and their events arrive twice.
 */
async function allDelivered(delivery: Promise<void>): Promise<void> {
  uncaughtDeliveries.add(delivery)
  await delivery
  uncaughtDeliveries.delete(delivery)
  await Promise.all(uncaughtDeliveries)
}
