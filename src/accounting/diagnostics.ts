import { isPromise } from 'node:util/types'
import type { ErrorCode } from '../errors.ts'
import { NativePromise } from '../native-promise.ts'
import { prependListener } from '../own-listeners.ts'
import { kindOfThrown } from '../text/kind-of-thrown.ts'
import { type Redact, toMessageLine } from '../text/short-line.ts'
import { monotonicMs, onNextTick } from '../time.ts'
import type { Channels } from './channels.ts'
import type { Dropped } from './ledger.ts'

/** A problem that an operator should know about. Delivery problems are only reported, never thrown. */
export interface Warning {
  /** Stable code of the problem. Match on it, never on the message. */
  readonly code: ErrorCode
  /** The problem, and what to do about it. Never contains a token. */
  readonly message: string
  /**
   * Number of warnings with the same code and subject that were suppressed since the last one. At most one is emitted
   * per minute.
   */
  readonly suppressed: number
}

/** An event that the service refused. */
export interface Rejected {
  /** Dataset of the event. */
  readonly dataset: string
  /**
   * The event as it was sent. It is `undefined` if the service did not say which event it refused, or if the line is
   * not a JSON object.
   */
  readonly event: Record<string, unknown> | undefined
  /** HTTP status of the answer; 200 if the service stored other events of the same batch. */
  readonly status: number
  /** The service's reason, in its own words. */
  readonly reason: string
}

/** A batch that the service has answered with a 2xx status. */
export interface Delivered {
  /** Dataset of the events. */
  readonly dataset: string
  /** Number of events that the service accepted; refused events of the batch do not count. */
  readonly count: number
  /** Bytes of all lines of the batch, with their line breaks, before compression. */
  readonly bytes: number
}

/** A batch that is sent again, because the service did not take it now or gave no answer. */
export interface Retried {
  /** Dataset of the events. */
  readonly dataset: string
  /** Number of events in the batch. */
  readonly count: number
  /** Bytes of all lines of the batch, with their line breaks, before compression. */
  readonly bytes: number
  /** Number of attempts so far. */
  readonly attempts: number
  /** HTTP status of the answer; `undefined` if no answer came. */
  readonly status: number | undefined
  /** The service's reason in its own words, or the error of the connection. */
  readonly reason: string
  /** Minimum time until the next attempt, in milliseconds. */
  readonly delayMs: number
}

/** A dataset whose events are held back, because the service refuses its token, name or address, or every event. */
export interface Paused {
  /** The dataset. */
  readonly dataset: string
  /** HTTP status of the answer. */
  readonly status: number
  /** The service's reason, in its own words. */
  readonly reason: string
  /** Number of refusals in a row: 1 when the pause begins, more after each probe that the service refuses. */
  readonly refusals: number
  /** Time until the next probe, in milliseconds. */
  readonly delayMs: number
}

/** Events that went to the spool, because memory is short or the process is done with them. */
export interface Spooled {
  /** Dataset of the events. */
  readonly dataset: string
  /** Number of events. */
  readonly count: number
  /** Bytes of the lines of these events, with their line breaks. */
  readonly bytes: number
  /** True if the events were handed off to another process. Otherwise this process delivers them later. */
  readonly isHandedOff: boolean
}

/** An attempt to send a batch that has ended, with or without an answer. */
export interface Attempted {
  /** Dataset of the events. */
  readonly dataset: string
  /** Number of events in the batch. */
  readonly count: number
  /** Bytes of all lines of the batch, with their line breaks, before compression. */
  readonly bytes: number
  /** Duration of the attempt, in milliseconds. */
  readonly durationMs: number
  /** HTTP status of the answer; `undefined` if no answer came. */
  readonly status: number | undefined
  /** Kind of failure, as OpenTelemetry's `error.type`; `undefined` if the service took the batch. */
  readonly errorType: string | undefined
}

export interface DiagnosticListeners {
  warning: (warning: Warning) => void
  dropped: (dropped: Dropped) => void
  rejected: (rejected: Rejected) => void
  delivered: (delivered: Delivered) => void
  retried: (retried: Retried) => void
  paused: (paused: Paused) => void
  spooled: (spooled: Spooled) => void
  attempted: (attempted: Attempted) => void
}

/** Every diagnostic event. It is published on a channel, except for warnings: Node has process warnings for them. */
const isPublished: Readonly<Record<keyof DiagnosticListeners, boolean>> = {
  warning: false,
  dropped: true,
  rejected: true,
  delivered: true,
  retried: true,
  paused: true,
  spooled: true,
  attempted: true,
}

export const diagnosticNames = Object.keys(isPublished) as readonly (keyof DiagnosticListeners)[]
export const publishedNames = diagnosticNames.filter(name => isPublished[name])

type Listeners = { readonly [Name in keyof DiagnosticListeners]: Set<DiagnosticListeners[Name]> }

const oneMinuteMs = 60_000
/** Maximum number of subjects that are remembered. The one that was warned of first makes room for another. */
const maxSubjects = 1000
/**
 * Maximum number of warnings of a code in a minute, whatever their subjects. Each of many datasets may be a subject.
 */
const maxPerCode = 200
/** Maximum length of a remembered subject, in characters. */
const maxSubjectChars = 1000

/**
 * Emits diagnostic events: one call of `emit` reaches the listeners, the channels of `node:diagnostics_channel`, the
 * metrics and the counts by dataset. A listener that throws does no harm: a warning reports it, at most once a minute,
 * unless it listens for `warning` itself.
 */
export class Diagnostics {
  readonly #listeners = Object.fromEntries(diagnosticNames.map(name => [name, new Set()])) as unknown as Listeners
  readonly #channels: Channels | undefined
  /** Notices that are due, in order. */
  readonly #due: Iterator<() => void>[] = []
  readonly #quiet = new Map<string, { untilMs: number; suppressed: number }>()
  readonly #minutes = new Map<ErrorCode, { untilMs: number; count: number }>()
  /** Removes the secrets of the shipper from a text. */
  readonly redact: Redact

  constructor(redact: Redact = text => text, channels?: Channels) {
    this.redact = redact
    this.#channels = channels
  }

  add<Name extends keyof DiagnosticListeners>(name: Name, listener: DiagnosticListeners[Name]): void {
    this.#listeners[name].add(listener)
  }

  remove<Name extends keyof DiagnosticListeners>(name: Name, listener: DiagnosticListeners[Name]): void {
    this.#listeners[name].delete(listener)
  }

  listenerCount(name: keyof DiagnosticListeners): number {
    return this.#listeners[name].size
  }

  /** True if the event would reach a listener or a subscriber of its channel. */
  has(name: keyof DiagnosticListeners): boolean {
    return this.#listeners[name].size > 0 || this.#channels?.hasSubscribers(name) === true
  }

  emit<Name extends keyof DiagnosticListeners>(name: Name, notice: Parameters<DiagnosticListeners[Name]>[0]): void {
    // A copy: a listener that is added now is called from the next notice on, as by an `EventEmitter`.
    for (const listener of [...this.#listeners[name]]) {
      try {
        const result = (listener as (notice: unknown) => unknown)(notice)
        if (isPromise(result))
          NativePromise.prototype.then.call(result, undefined, error => this.#listenerThrew(name, error))
      } catch (error) {
        this.#listenerThrew(name, error)
      }
    }
    if (this.#channels?.hasSubscribers(name)) this.#channels.publish(name, notice)
  }

  /**
   * Calls functions that emit notices, in order. If a listener ends the process, `emitDue` calls the functions that
   * remain.
   */
  emitInTurn(emits: Iterable<() => void>): void {
    this.#due.push(emits[Symbol.iterator]())
    this.emitDue()
  }

  emitDue(): void {
    for (let [emits] = this.#due; emits !== undefined; [emits] = this.#due) {
      const { value: emit, done } = emits.next()
      if (!done) emit()
      else if (this.#due[0] === emits) this.#due.shift()
    }
  }

  #listenerThrew(name: keyof DiagnosticListeners, error: unknown): void {
    if (name === 'warning') return
    const listener = name === 'rejected' ? "onRejected, or a listener for 'rejected'," : `a listener for '${name}'`
    this.warn('LOGFERRY_CALLBACK_THREW', `${listener} threw ${kindOfThrown(error)}. Delivery continues.`)
  }

  /**
   * Emits a warning to the listeners, or as a Node process warning (standard error) if there are none. For each code
   * and each subject (`about`), it emits at most one warning per minute, and at most 200 per minute for each code.
   *
   * Whatever the message contains, the warning is one line of limited length, printable and without secrets. A function
   * makes the message only if the warning is emitted.
   */
  warn(code: ErrorCode, message: string | (() => string), about = ''): void {
    const nowMs = monotonicMs()
    const key = `${code} ${about}`.slice(0, maxSubjectChars)
    const quiet = this.#quiet.get(key)
    const isQuiet = quiet !== undefined && nowMs < quiet.untilMs
    if (isQuiet || !this.#mayWarn(code, nowMs)) {
      if (quiet !== undefined) quiet.suppressed++
      return
    }
    this.#quiet.delete(key) // so that the key becomes the last one of the map
    this.#quiet.set(key, { untilMs: nowMs + oneMinuteMs, suppressed: 0 })
    const [first] = this.#quiet.keys()
    if (this.#quiet.size > maxSubjects && first !== undefined) this.#quiet.delete(first)
    const warning = {
      code,
      message: toMessageLine(`logferry: ${typeof message === 'string' ? message : message()}`, this.redact),
      suppressed: quiet?.suppressed ?? 0,
    }
    if (this.has('warning')) this.emit('warning', warning)
    else emitProcessWarning(warning)
  }

  /** Counts a warning. Returns false if there have been enough of its code in this minute. */
  #mayWarn(code: ErrorCode, nowMs: number): boolean {
    let minute = this.#minutes.get(code)
    if (minute === undefined || nowMs >= minute.untilMs) {
      minute = { untilMs: nowMs + oneMinuteMs, count: 0 }
      this.#minutes.set(code, minute)
    }
    return minute.count++ < maxPerCode
  }
}

let isAtOnce = false

/** Process warnings that Node prints on the next tick, which comes before the end only if the process goes on. */
const unprinted = new Set<Warning>()

/** Prints the warnings for which no next tick comes, because the process ends in this tick. */
function printUnprinted(): void {
  for (const warning of unprinted) {
    unprinted.delete(warning)
    emitWarningNow({ name: 'LogferryWarning', code: warning.code, message: warning.message })
  }
}

/**
 * Prints process warnings immediately from now on. Node normally prints a warning on the next tick, which never comes
 * after 'exit' has been emitted.
 */
export function warnAtOnce(): void {
  isAtOnce = true
}

/** Lets Node print process warnings on the next tick again. */
export function warnOnNextTick(): void {
  isAtOnce = false
}

/** Prints a warning on standard error, unless the process is configured to treat warnings otherwise. */
export function emitProcessWarning(warning: Warning): void {
  const { code, message } = warning
  if (isAtOnce) return emitWarningNow({ name: 'LogferryWarning', code, message })
  try {
    if (unprinted.size === 0) prependListener('exit', printUnprinted)
    unprinted.add(warning)
    // Before Node prints it, because a listener of the application may end the process then.
    onNextTick(() => {
      unprinted.delete(warning)
      if (unprinted.size === 0) process.off('exit', printUnprinted)
    })
    process.emitWarning(message, { type: 'LogferryWarning', code })
  } catch {
    // The application has replaced a function. Neither delivery nor a log call may stop because of that.
  }
}

/** Emits a process warning without waiting for the next tick. */
export function emitWarningNow({
  name,
  code,
  message,
}: {
  name: string
  code?: string | undefined
  message: string
}): void {
  const warning = Object.assign(new Error(message), { name, code })
  try {
    process.emit('warning', warning)
  } catch {
    // A listener of the application threw. Its bug must not change how the process ends.
  }
}
