import type { Diagnostics } from '../../accounting/diagnostics.ts'
import { type DropReason, type IntakeDropReason, intakeDropReasons, isIntended } from '../../accounting/drop-reasons.ts'
import { DropSummary } from '../../accounting/drop-summary.ts'
import { reportIntakeDrops } from '../../accounting/drops.ts'
import type { DropsBySeverity, Ledger } from '../../accounting/ledger.ts'
import type { Severity } from '../../accounting/severity.ts'
import type { MemoryBudget } from '../../batch/memory-budget.ts'
import type { Waiting } from '../../delivery/warnings.ts'
import { drainIfExiting } from '../../exit/exit-hooks.ts'
import type { Redaction } from '../../record/redaction.ts'
import { openBatchBytes, reserveStack } from '../../stack-reserve.ts'
import { kindOfThrown, textOfThrown } from '../../text/kind-of-thrown.ts'
import { quoted } from '../../text/short-line.ts'
import { monotonicMs, setImmediate } from '../../time.ts'

interface IntakeDropsDeps {
  readonly ledger: Ledger
  readonly diagnostics: Diagnostics
  readonly memory: MemoryBudget
  readonly redaction: Redaction | undefined
  /** Returns why events wait, if that is known. */
  readonly whyWaiting: (nowMs: number) => Waiting | undefined
  /** Returns a dataset of which the service accepts nothing while it accepts others. */
  readonly behindDataset: () => string | undefined
  /** The registration of the shipper for the end of the process. */
  readonly atExit: { readonly isRegistered: boolean; register(): void }
  /** Called after every drop has been reported. */
  readonly onReported: () => void
}

/** The error for which an event is dropped that was logged while another one was taken, too deep or too often. */
export const endlessLogging = new Error(
  'a getter, a `toJSON`, a listener or a function of an option logs again for each event',
)

/** Counts and reports the events that are dropped inside their own log calls. */
export class IntakeDrops {
  readonly #deps: IntakeDropsDeps
  readonly #summary = new DropSummary()
  #isReporting = false
  #isReportingAll = false
  #isReportScheduled = false
  /** True if events were dropped where the stack ended, and could not be reported. A later call reports them. */
  hasUnreported = false
  /** The error for which the last event was dropped with the reason `error`. */
  lastError: unknown
  /** The code of the application that threw this error; an empty text if that code is unknown. */
  lastThrower = ''

  constructor(deps: IntakeDropsDeps) {
    this.#deps = deps
  }

  /** Drops an event in its log call: counts it, and reports it. */
  drop(reason: IntakeDropReason, severity: Severity): DropReason {
    this.#deps.ledger.intakeDropCounts[reason][severity]++
    if (this.#isReporting) return reason // a listener that hears of a drop has logged: the next drop reports it
    try {
      // Intended drops may come with nearly every log call. One report in a turn of the event loop covers them all.
      if (isIntended(reason)) {
        this.hasUnreported = true
        this.scheduleReport()
        return reason
      }
      reserveStack(openBatchBytes)
      this.#report(reason)
    } catch {
      this.hasUnreported = true
    }
    return reason
  }

  /**
   * Reports events that were dropped in their log calls and could not be reported there. Uses the next turn of the
   * event loop: with microtasks, a listener that logs could keep the event loop from continuing.
   *
   * @throws RangeError if too little stack is left
   */
  scheduleReport(): void {
    const { atExit } = this.#deps
    if (this.#isReportScheduled) return
    // Node's own count of immediates is wrong for ever if the stack ends within `setImmediate`: the process never ends.
    reserveStack(openBatchBytes)
    const wasRegistered = atExit.isRegistered
    if (!wasRegistered) atExit.register() // the exit hooks report the events if there is no next turn
    setImmediate(() => this.reportAll()).unref()
    this.#isReportScheduled = true
    if (!wasRegistered) drainIfExiting()
  }

  reportAll(): void {
    const wasReportingAll = this.#isReportingAll
    this.#isReportingAll = true
    try {
      this.#isReportScheduled = false
      this.hasUnreported = false
      for (const reason of intakeDropReasons) this.#report(reason)
      this.#deps.onReported()
    } finally {
      this.#isReportingAll = wasReportingAll
    }
  }

  /**
   * Reports the drops that have been counted and not reported. Returns false if there are none. A listener may log an
   * event that is dropped as well. That drop is left to the next report, because otherwise the reports might never end.
   */
  reportRest(): boolean {
    if (this.#isReportingAll || !(this.hasUnreported || this.#deps.ledger.hasUnreported)) return false
    this.reportAll()
    return true
  }

  /** Returns an event that sums up the events dropped for lack of memory, once memory has room again. */
  takeSummary(): object | undefined {
    return this.#deps.memory.minSeverity === 0 ? this.#summary.take(monotonicMs()) : undefined
  }

  #report(reason: IntakeDropReason): void {
    const wasReporting = this.#isReporting // a listener may flush or close the shipper, which reports the rest
    this.#isReporting = true
    try {
      const { count, bySeverity } = reportIntakeDrops(this.#deps, reason)
      if (count > 0) this.#warn(reason, count, bySeverity)
    } finally {
      this.#isReporting = wasReporting
    }
  }

  #warn(reason: IntakeDropReason, count: number, bySeverity: DropsBySeverity): void {
    const { diagnostics, redaction } = this.#deps
    if (reason === 'redact') {
      const problem = redaction?.problem ?? 'redaction failed'
      diagnostics.warn('LOGFERRY_DROPPED', `${problem}. Events that cannot be redacted are dropped.`, reason)
    }
    if (reason === 'memory') this.#warnOfMemory(bySeverity)
    if (reason === 'shut-down') diagnostics.warn('LOGFERRY_DROPPED', afterShutdown, reason)
    if (reason !== 'error') return
    const error = this.lastError
    const thrower = this.lastThrower === '' ? '' : `${this.lastThrower}: `
    const isKnown = error !== undefined || thrower !== '' // where the stack ended, the error is not known
    this.lastError = undefined
    this.lastThrower = ''
    // With redaction, no text that may have a value: the error may be one of the application.
    const mayBeShown = redaction === undefined || error === endlessLogging
    const what = mayBeShown ? textOfThrown(error) : kindOfThrown(error)
    const lost = count === 1 ? '1 event could not be logged and is' : `${count} events could not be logged and are`
    diagnostics.warn('LOGFERRY_DROPPED', `${lost} dropped${isKnown ? ` (${thrower}${what})` : ''}.`, 'error')
  }

  #warnOfMemory(bySeverity: DropsBySeverity): void {
    this.#summary.note(bySeverity)
    this.#deps.diagnostics.warn('LOGFERRY_DROPPED', () => this.#lackOfMemory(), 'memory')
  }

  #lackOfMemory(): string {
    const { memory, whyWaiting, behindDataset } = this.#deps
    const { usedBytes, maxBytes, minSeverity } = memory
    const why = whyWaiting(monotonicMs())
    const slow =
      why === undefined ? 'Find out why delivery is slow' : `Delivery is slow${why.clause}. Remove that cause`
    const behind = minSeverity === 0 ? behindDataset() : undefined
    const what =
      behind === undefined
        ? `memory for pending events is nearly full (${usedBytes} of ${maxBytes} bytes). Events are dropped, low severities first.`
        : `the service takes no events of dataset ${quoted(behind)}, but those of others. So its events may fill half of the ` +
          `memory for pending events (${usedBytes} of ${maxBytes} bytes are in use). Further ones are dropped.`
    return `${what} ${slow}, or raise maxBufferedBytes.`
  }
}

const afterShutdown =
  'records that come after the shutdown of their OpenTelemetry processor or exporter are dropped. Shut the processor or ' +
  'exporter down last. A SimpleLogRecordProcessor passes records on after its shutdown if their resource was still being ' +
  'detected: await its forceFlush() before, or use LogferryLogRecordProcessor.'
