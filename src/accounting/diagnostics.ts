import type { ErrorCode } from '../errors.ts'
import { type Redact, toMessageLine } from '../text/short-line.ts'
import { monotonicMs } from '../time.ts'
import type { Dropped } from './ledger.ts'

/** A problem that an operator should know about. Delivery problems are only reported, never thrown. */
export interface Warning {
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
  readonly dataset: string
  /** Number of events that the service accepted; refused events of the batch do not count. */
  readonly count: number
  /** Bytes of all lines of the batch, before compression. */
  readonly bytes: number
}

export interface DiagnosticListeners {
  warning: (warning: Warning) => void
  dropped: (dropped: Dropped) => void
  rejected: (rejected: Rejected) => void
  delivered: (delivered: Delivered) => void
}

export const diagnosticNames = [
  'warning',
  'dropped',
  'rejected',
  'delivered',
] as const satisfies (keyof DiagnosticListeners)[]

const oneMinuteMs = 60_000
/**
 * Maximum number of subjects that are remembered. When there are more, all are forgotten, and each may be warned of
 * again.
 */
const maxQuietMatters = 1000
/** Maximum length of a remembered subject, in characters. */
const maxMatterChars = 1000

/**
 * Calls the listeners of diagnostic events. A listener that throws does no harm: a warning reports it, at most once a
 * minute, unless it listens for `warning` itself.
 */
export class Diagnostics {
  readonly #listeners: { [Name in keyof DiagnosticListeners]: Set<DiagnosticListeners[Name]> } = {
    warning: new Set(),
    dropped: new Set(),
    rejected: new Set(),
    delivered: new Set(),
  }
  readonly #quiet = new Map<string, { untilMs: number; suppressed: number }>()
  /** Removes the secrets of the shipper from a text. */
  readonly redact: Redact

  constructor(redact: Redact = text => text) {
    this.redact = redact
  }

  add<Name extends keyof DiagnosticListeners>(name: Name, listener: DiagnosticListeners[Name]): void {
    this.#listeners[name].add(listener)
  }

  remove<Name extends keyof DiagnosticListeners>(name: Name, listener: DiagnosticListeners[Name]): void {
    this.#listeners[name].delete(listener)
  }

  has(name: keyof DiagnosticListeners): boolean {
    return this.#listeners[name].size > 0
  }

  emit<Name extends keyof DiagnosticListeners>(name: Name, notice: Parameters<DiagnosticListeners[Name]>[0]): void {
    for (const listener of this.#listeners[name]) {
      try {
        ;(listener as (notice: unknown) => void)(notice)
      } catch (error) {
        if (name !== 'warning')
          this.warn('LOGFERRY_CALLBACK_THREW', `a listener for '${name}' threw ${nameOf(error)}. Delivery continues.`)
      }
    }
  }

  /**
   * Emits a warning to the listeners, or as a Node process warning (standard error) if there are none. For each code
   * and each subject (`about`), it emits at most one warning per minute.
   *
   * Whatever the message contains, the warning is one line of limited length, printable and without secrets.
   */
  warn(code: ErrorCode, message: string, about = ''): void {
    const nowMs = monotonicMs()
    const key = `${code} ${about}`.slice(0, maxMatterChars)
    const quiet = this.#quiet.get(key)
    if (quiet !== undefined && nowMs < quiet.untilMs) {
      quiet.suppressed++
      return
    }
    if (this.#quiet.size > maxQuietMatters) this.#quiet.clear()
    this.#quiet.set(key, { untilMs: nowMs + oneMinuteMs, suppressed: 0 })
    const warning = {
      code,
      message: toMessageLine(`logferry: ${message}`, this.redact),
      suppressed: quiet?.suppressed ?? 0,
    }
    if (this.has('warning')) this.emit('warning', warning)
    else emitProcessWarning(warning)
  }
}

let isAtOnce = false

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
export function emitProcessWarning({ code, message }: Warning): void {
  if (!isAtOnce) return process.emitWarning(message, { type: 'LogferryWarning', code })
  emitWarningNow({ name: 'LogferryWarning', code, message })
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

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
