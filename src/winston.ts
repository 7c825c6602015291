import TransportStream from 'winston-transport'
import { emitProcessWarning, type Warning } from './accounting/diagnostics.ts'
import { invalidOption } from './errors.ts'
import { describedWord } from './options/described.ts'
import { optionsOf } from './options/options-of.ts'
import { ownProperties } from './options/own-properties.ts'
import { bothWays, noteMessage } from './record/both-ways.ts'
import { wallClockMs } from './record/clock.ts'
import { beginLogCall, logCalls, QueuedLogCalls } from './record/log-calls.ts'
import { loggedLine } from './record/logged-line.ts'
import { errorBehind } from './record/lost-error.ts'
import { activeTraceIds } from './record/trace-context.ts'
import { plainInfo, severityOfInfo, winstonToEvent } from './record/winston-to-event.ts'
import { OpenCallbacks, once } from './shipper/open-callbacks.ts'
import type { Shipper } from './shipper/shipper.ts'
import { type ShipperOrOptions, shipperOf } from './shipper/shipper-of.ts'

/** What is logged: an object of the application's or Winston's own, with what Winston keeps of it under symbols. */
type Info = Record<PropertyKey, unknown>

const loggedLevel = Symbol.for('level')
/** What an info counts as that cannot be looked at: info. */
const usualSeverity = 2

/** What Winston itself understands of a transport's options. */
interface WinstonOptions {
  /** Least severe level to ship. By default the logger's. */
  level?: string | undefined
  /**
   * A format for this transport alone. None is needed: events are shipped as they are logged, which is also fastest. What a
   * format changes in the info is shipped so; a text that it makes (`format.json()` with a `replacer`) is not.
   */
  format?: TransportStream.TransportStreamOptions['format']
  /** Ships nothing. @defaultValue false */
  silent?: boolean | undefined
  /** Logs uncaught exceptions. @defaultValue false */
  handleExceptions?: boolean | undefined
  /** Logs unhandled rejections. @defaultValue false */
  handleRejections?: boolean | undefined
}

export type LogferryTransportOptions = WinstonOptions & ShipperOrOptions

/**
 * Winston transport that ships every event to a dataset of the service.
 *
 * Trouble of delivery never surfaces as an `'error'` event: the logger emits `'warn'`, and where nobody listens for that
 * Node prints a process warning. `logger.end()` waits for delivery, for `flushTimeoutMs` at most.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` when an option is missing or malformed
 */
export class LogferryTransport extends TransportStream {
  readonly name = 'logferry'
  /** What delivers the events: `transport.shipper.stats()`, `transport.shipper.on('rejected', …)`. */
  readonly shipper: Shipper
  readonly #isOwn: boolean
  /** Those that it belongs to now, the first of which decides on level and levels. */
  readonly #loggers: ParentLogger[] = []
  readonly #queue = new QueuedLogCalls()
  readonly #openCallbacks = new OpenCallbacks()
  #lastUncaught: unknown
  /** How often the shipper has kept or dropped an event of this transport. */
  #answers = 0
  /** Nothing has been logged, and no logger has taken it up, since it was removed. */
  #isOutOfUse = false
  /** Set by Winston while the transport belongs to a logger. */
  declare parent?: ParentLogger | null
  /** Set by Winston, as `parent` is. */
  declare levels?: Readonly<Record<string, number>> | undefined
  /** @internal Set by Winston when it has caught an error and is about to log it, and waits for 'finish'. */
  declare readonly _ending?: boolean
  /** @internal What a stream keeps of itself. */
  declare readonly _writableState: { readonly corked: number }

  constructor(options: LogferryTransportOptions = {}) {
    const { level, format, silent, handleExceptions, handleRejections, ...shipping } = optionsOf(options)
    const winstonOptions = { level, format, silent, handleExceptions, handleRejections }
    super(ownProperties(winstonOptions) as TransportStream.TransportStreamOptions)
    // Winston's own listeners follow one logger, once; a transport is taken off and put back by logger.configure().
    this.removeAllListeners('pipe').removeAllListeners('unpipe')
    this.on('pipe', logger => this.#join(logger as unknown as ParentLogger))
    this.on('unpipe', logger => this.#leave(logger as unknown as ParentLogger))
    const { shipper, isOwn } = shipperOf(shipping as ShipperOrOptions)
    this.shipper = shipper
    this.#isOwn = isOwn
    if (isOwn) shipper.on('warning', warning => this.#warn(warning))
  }

  /**
   * Called by the logger, for each info. A stream's own `write` keeps account of what it buffers, has a callback wait for
   * the next tick, and throws while another logger of the same transport is ending. As `log` never keeps an event
   * waiting, nothing of that is needed, unless the stream is corked. A subclass may answer later: it is given the next info
   * meanwhile, as a logger that is asked to wait loses what it has when it ends; the end of the stream waits for the answers.
   */
  override write(info: unknown, callback?: Written): boolean
  override write(info: unknown, encoding: BufferEncoding, callback?: Written): boolean
  override write(info: unknown, ...rest: unknown[]): boolean {
    if (rest.length > 0 || info === null || this._writableState.corked > 0) return super.write(info, ...(rest as []))
    const answers = this.#answers
    try {
      this._write(info as Info, 'utf8', this.log === ownLog ? ignore : this.#openCallbacks.open())
    } catch (error) {
      if (this.format != null || this.log !== ownLog) throw error // what the application's code throws is for its log call
      if (this.#answers === answers) this.shipper.refused.error[usualSeverity]++ // at the end of the stack
    }
    return true
  }

  /** What Winston's own does, and the format of the transport gets an Error with all its fields. */
  override _write(info: Info, _encoding: BufferEncoding, callback: Written): void {
    this.#write(info, callback === ignore ? callback : once(callback))
  }

  /**
   * The same for what a corked stream has buffered. Nothing is thrown, as that would leave the stream in the middle of its
   * work, and its end would never come.
   */
  override _writev(chunks: Chunk[], callback: Written): void {
    if (hasBulkLog(this)) return super._writev?.(chunks as never, callback)
    let left = chunks.length
    const written = () => {
      if (--left === 0) callback(null)
    }
    for (const { chunk } of chunks) {
      try {
        this.#write(chunk, once(written))
      } catch (error) {
        this.shipper.dropFor(error)
      }
    }
  }

  #write(info: Info, written: () => void): void {
    try {
      if (this.#isWanted(info)) this.#takeFormatted(info, written)
      else written()
    } catch (error) {
      written()
      throw error
    }
  }

  #isWanted(info: Info): boolean {
    if (this.silent || (info.exception === true && !this.handleExceptions)) return false
    const level = this.level || this.parent?.level
    if (!level || this.levels === undefined) return true
    return (this.levels[level] as number) >= (this.levels[info[loggedLevel] as string] as number)
  }

  #takeFormatted(info: Info, written: () => void): void {
    const { format } = this
    if (format == null) return void this.log(info, written)
    const formatted = format.transform(plainInfo(info) as never, format.options)
    if (typeof formatted === 'object' && formatted !== null) this.log(formatted as Info, written)
    else written()
  }

  /**
   * Called for each info. It is serialised at once. A subclass that has a `log` of its own calls `callback` once, as with any
   * stream.
   */
  override log(info: Info, callback?: () => void): true {
    this.#isOutOfUse = false
    const queued = this.#queuedInfos()
    try {
      this.#logOnce(info, callback)
    } finally {
      try {
        this.#queue.end(this.#queuedInfos() - queued)
      } catch {
        // Out of stack: what is queued counts as no deeper.
      }
    }
    return true
  }

  #logOnce(info: Info, callback: (() => void) | undefined): void {
    if (!this.#queue.begin() || !beginLogCall()) {
      this.shipper.refuseNested()
      this.#answers++
      callback?.()
      return
    }
    try {
      this.#take(info)
      callback?.()
      if (this.listenerCount('logged') > 0) this.emit('logged', info)
    } finally {
      logCalls.depth--
    }
  }

  #take(info: Info): void {
    const isUncaught = this._ending === true && (info.exception === true || info.rejection === true)
    // A transport that stands among `transports` and `exceptionHandlers` gets the same twice, in copies if it has a format.
    const isRepeated = isUncaught && info.trace !== undefined && info.trace === this.#lastUncaught
    if (!isRepeated) {
      const event = winstonToEvent(info, activeTraceIds(info), errorBehind(info, this.parent))
      const line = event === info ? loggedLine(info, this.parent, this) : undefined
      this.shipper.take(event, severityOfInfo(info), wallClockMs(), undefined, line)
      this.#answers++
      if (bothWays.isBridged) this.#watchBothWays(info)
    }
    if (isUncaught) this.#deliverUncaught(info)
  }

  #watchBothWays(info: Info): void {
    noteMessage(info.message)
    if (!bothWays.isFound || isToldOfBothWays) return
    isToldOfBothWays = true
    this.#warn({ code: 'LOGFERRY_DUPLICATE', message: shippedTwice, suppressed: 0 })
  }

  /** Infos that wait in the loggers: those that are logged while one is being taken. */
  #queuedInfos(): number {
    let count = 0
    const loggers = Math.min(this.#loggers.length, maxFollowedLoggers)
    for (let i = 0; i < loggers; i++) count += this.#loggers[i]?._writableState?.length ?? 0
    return count
  }

  /** Called by Winston when the logger ends; its `'finish'` waits for the callback. */
  override _final(callback: () => void): void {
    void this.#deliver().then(() => callback())
  }

  /**
   * Called by Winston when the transport is removed or its logger closed. It may be added again, and goes on: only one that
   * nobody has used since gives up what cannot be delivered within `flushTimeoutMs`.
   */
  override close(): void {
    this.#isOutOfUse = true
    void this.shipper.flush().then(() => {
      if (this.#isOwn && this.#isOutOfUse) void this.shipper.close({ timeoutMs: 0 })
    })
  }

  async #deliver(): Promise<void> {
    const timeoutMs = await this.#openCallbacks.wait(this.shipper.flushTimeoutMs)
    await (this.#isOwn ? this.shipper.close({ timeoutMs }) : this.shipper.flush({ timeoutMs }))
  }

  #join(logger: ParentLogger): void {
    this.#loggers.push(logger)
    this.#isOutOfUse = false
    this.#follow()
    this.#checkLevel(logger)
  }

  #leave(logger: ParentLogger): void {
    const at = this.#loggers.indexOf(logger)
    if (at < 0) return
    this.#loggers.splice(at, 1)
    this.#follow()
    if (this.#loggers.length === 0) this.close()
  }

  #follow(): void {
    this.parent = this.#loggers[0] ?? null
    if (this.parent !== null) this.levels = this.parent.levels
  }

  /** Of a level that the logger does not have, Winston ships nothing, and says nothing. */
  #checkLevel({ level: loggersLevel, levels }: ParentLogger): void {
    const level = this.level || loggersLevel
    if (!level || levels === undefined || Object.hasOwn(levels, level)) return
    const expected = `one of the logger's (${Object.keys(levels).join(', ')}), or nothing is shipped`
    const { code, message } = invalidOption('level', expected, describedWord(level), 'range')
    this.#warn({ code, message, suppressed: 0 })
  }

  /** Winston ends the process when the transport has finished, or after three seconds. */
  #deliverUncaught(info: Info): void {
    this.#lastUncaught = info.trace
    void this.shipper.flush().then(() => {
      // Without `parent` the transport stands in `exceptionHandlers`. With one, 'finish' takes it off its logger, which
      // must not happen to a logger that goes on.
      if (this.parent == null || exits(this.parent, info)) this.emit('finish')
    })
  }

  #warn(warning: Warning): void {
    this.emit('warn', Object.assign(new Error(warning.message), { code: warning.code, suppressed: warning.suppressed }))
    const isHeard = this.parent != null && this.parent.listenerCount('warn') > 0
    if (!isHeard) emitProcessWarning(warning)
  }
}

const ownLog = LogferryTransport.prototype.log

let isToldOfBothWays = false
const shippedTwice =
  'logferry: log calls of Winston are shipped twice, by LogferryTransport and as log records of OpenTelemetry: its ' +
  'instrumentation adds a transport of its own to each logger. Remove one of the two, or turn that off: ' +
  'new WinstonInstrumentation({ disableLogSending: true }).'

type Written = (error?: Error | null) => void

/** An info that a corked stream has buffered. */
interface Chunk {
  readonly chunk: Info
}

function ignore(): void {}

/** Whether a subclass takes many infos at once, which Winston's own `_writev` gives it. */
function hasBulkLog(transport: TransportStream): boolean {
  return typeof transport.logv === 'function'
}

/** Loggers whose queues are looked at, twice in each log call: an application may make a logger for each request. */
const maxFollowedLoggers = 8

interface ParentLogger {
  readonly level?: string
  readonly levels?: Readonly<Record<string, number>>
  readonly exitOnError?: unknown
  readonly _writableState?: { readonly length: number }
  listenerCount(name: string): number
}

function exits(logger: ParentLogger, info: Info): boolean {
  const { exitOnError } = logger
  if (typeof exitOnError !== 'function') return Boolean(exitOnError)
  try {
    return Boolean(exitOnError(info.error))
  } catch {
    return false
  }
}
