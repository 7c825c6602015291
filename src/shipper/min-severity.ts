import { type Severity, type SeverityName, severities } from '../accounting/severity.ts'
import { invalidOption } from '../errors.ts'
import { described, kindOfMistake } from '../options/described.ts'
import { onlyOption } from '../options/only-option.ts'
import { checkedSeverity } from '../options/shaping-options.ts'
import { clearTimeout, maxTimeoutMs, setTimeout } from '../time.ts'

/** The minimum severity of events that are shipped. It can be changed for a time, and then goes back by itself. */
export class MinSeverity {
  /** The minimum in force. Each log call reads it. */
  current: Severity
  /** The minimum that comes back when the time of a temporary one is up. */
  #lasting: Severity
  #timer: NodeJS.Timeout | undefined

  constructor(name: SeverityName) {
    this.#lasting = indexOf(name)
    this.current = this.#lasting
  }

  get name(): SeverityName {
    return severities[this.current]
  }

  /**
   * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if no severity has that name, or if the
   *   options are malformed
   */
  set(name: SeverityName, options: { readonly forMs?: number | undefined }): void {
    const severity = indexOf(checkedSeverity(name))
    const forMs = checkedForMs(options)
    clearTimeout(this.#timer)
    this.current = severity
    if (forMs === undefined) {
      this.#lasting = severity
      return
    }
    this.#timer = setTimeout(() => {
      this.current = this.#lasting
    }, forMs).unref()
  }
}

function checkedForMs(options: { readonly forMs?: number | undefined }): number | undefined {
  const forMs = onlyOption(options, 'forMs')
  if (forMs === undefined || (typeof forMs === 'number' && forMs >= 1 && forMs <= maxTimeoutMs)) return forMs
  const expected = `a number from 1 to ${maxTimeoutMs} (milliseconds)`
  throw invalidOption('forMs', expected, described(forMs), kindOfMistake(forMs, 'number'))
}

function indexOf(name: SeverityName): Severity {
  return severities.indexOf(name) as Severity
}
