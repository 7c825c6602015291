import TransportStream from 'winston-transport'
import { emitProcessWarning, type Warning } from './notices.ts'
import { loggedLine } from './record/logged-line.ts'
import { activeTraceIds } from './record/trace-context.ts'
import { severityOfInfo, winstonToEvent } from './record/winston-to-event.ts'
import type { Shipper } from './shipper/shipper.ts'
import { type ShipperOrOptions, shipperOf } from './shipper/shipper-of.ts'

/** What Winston itself understands of a transport's options. */
interface WinstonOptions {
  /** Least severe level to ship. By default the logger's. */
  level?: string | undefined
  /** A format for this transport alone. None is needed: events are shipped as they are logged, which is also fastest. */
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
  #lastUncaught: object | undefined
  /** Set by Winston while the transport belongs to a logger. */
  declare parent?: ParentLogger | null
  /** @internal */
  declare readonly _writableState: { readonly ending: boolean }

  constructor(options: LogferryTransportOptions = {}) {
    const { level, format, silent, handleExceptions, handleRejections, ...shipping } = options
    super({ level, format, silent, handleExceptions, handleRejections } as TransportStream.TransportStreamOptions)
    const { shipper, isOwn } = shipperOf(shipping as ShipperOrOptions)
    this.shipper = shipper
    this.#isOwn = isOwn
    if (isOwn) shipper.on('warning', warning => this.#warn(warning))
  }

  /**
   * Called by the logger, for each info. A stream's own `write` keeps account of what it buffers, and has a callback wait
   * for the next tick; as `log` never keeps an event waiting, nothing of that is needed.
   */
  override write(info: unknown, callback?: Written): boolean
  override write(info: unknown, encoding: BufferEncoding, callback?: Written): boolean
  override write(info: unknown, ...rest: unknown[]): boolean {
    if (rest.length > 0 || this._writableState.ending || info === null) return super.write(info, ...(rest as []))
    this._write(info, 'utf8', ignore)
    return true
  }

  /** Called by Winston. The callback is called at once: the event is serialised, and Winston's buffers stay empty. */
  override log(info: Record<PropertyKey, unknown>, callback?: () => void): true {
    const isUncaught = info.exception === true || info.rejection === true
    // A transport that stands among `transports` and `exceptionHandlers` gets the same info twice.
    if (!isUncaught || info !== this.#lastUncaught) {
      const event = winstonToEvent(info, activeTraceIds(info))
      const line = event === info ? loggedLine(info, this.parent, this) : undefined
      this.shipper.take(event, severityOfInfo(info), Date.now(), undefined, line)
    }
    if (isUncaught) this.#deliverUncaught(info)
    callback?.()
    if (this.listenerCount('logged') > 0) this.emit('logged', info)
    return true
  }

  /** Called by Winston when the logger ends; its `'finish'` waits for the callback. */
  override _final(callback: () => void): void {
    void this.#deliver().then(() => callback())
  }

  /** Called by Winston when the transport is removed or its logger closed. It may be added again, and goes on. */
  override close(): void {
    void this.#deliver()
  }

  async #deliver(): Promise<void> {
    await (this.#isOwn ? this.shipper.close() : this.shipper.flush())
  }

  /** Winston ends the process when the transport has finished, or after three seconds. */
  #deliverUncaught(info: Record<PropertyKey, unknown>): void {
    this.#lastUncaught = info
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

type Written = (error: Error | null | undefined) => void

function ignore(): void {}

interface ParentLogger {
  readonly exitOnError?: unknown
  listenerCount(name: string): number
}

function exits(logger: ParentLogger, info: Record<PropertyKey, unknown>): boolean {
  const { exitOnError } = logger
  if (typeof exitOnError !== 'function') return Boolean(exitOnError)
  try {
    return Boolean(exitOnError(info.error))
  } catch {
    return false
  }
}
