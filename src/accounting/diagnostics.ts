import type { ErrorCode } from '../errors.ts'
import { type Redact, toMessageLine } from '../text/short-line.ts'
import { monotonicMs } from '../time.ts'
import type { DropReason, DropsBySeverity } from './ledger.ts'

/** Trouble that somebody should know of. Delivery trouble is only ever reported, never thrown. */
export interface Warning {
  readonly code: ErrorCode
  /** What happened, and what to do about it. Never holds a token. */
  readonly message: string
  /** How many warnings of the same matter were held back since the last one, as one a minute is let through. */
  readonly suppressed: number
}

/** Events that are given up. */
export interface Dropped {
  readonly reason: DropReason
  readonly count: number
  readonly bySeverity: DropsBySeverity
}

/** An event that the service refused. */
export interface Rejected {
  readonly dataset: string
  /** The event as it was sent; `undefined` if the service did not say which event it refused, or the line is not JSON. */
  readonly event: Record<string, unknown> | undefined
  readonly status: number
  /** The service's own words. */
  readonly reason: string
}

/** A batch that the service has answered for. */
export interface Delivered {
  readonly dataset: string
  readonly count: number
  /** Bytes of its lines before compression. */
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
/** Matters that are remembered, and characters of each; past it all may be warned of anew. */
const maxQuietMatters = 1000
const maxMatterChars = 1000

/** Tells listeners what happens. A listener that throws does no harm: it is reported in turn, once a minute. */
export class Diagnostics {
  readonly #listeners: { [Name in keyof DiagnosticListeners]: Set<DiagnosticListeners[Name]> } = {
    warning: new Set(),
    dropped: new Set(),
    rejected: new Set(),
    delivered: new Set(),
  }
  readonly #quiet = new Map<string, { untilMs: number; suppressed: number }>()
  /** Takes the secrets of the shipper out of a text. */
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
        if (name !== 'warning') this.warn('LOGFERRY_CALLBACK_THREW', `a listener for '${name}' threw ${nameOf(error)}`)
      }
    }
  }

  /**
   * Gives a warning to the listeners, or to Node's process warnings (standard error) where there are none; of each code,
   * and of what it is about, once a minute at the most. Whatever is in the message, the warning is one line of bounded
   * length, printable and without secrets.
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

/** Whether warnings of the process are printed at once: as a rule Node waits for the next tick, and on 'exit' there is none. */
export function warnAtOnce(atOnce: boolean): void {
  isAtOnce = atOnce
}

/** Prints a warning on standard error, unless the process is told to do otherwise with warnings. */
export function emitProcessWarning({ code, message }: Warning): void {
  if (!isAtOnce) return process.emitWarning(message, { type: 'LogferryWarning', code })
  emitWarningNow({ name: 'LogferryWarning', code, message })
}

/** Prints a warning of the process without waiting for the next tick. */
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
    // A listener of the application: its mistake must not change how the process ends.
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
