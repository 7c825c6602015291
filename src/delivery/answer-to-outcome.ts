import { bodyOf, isPage } from '../http/answer-body.ts'
import type { Answer } from '../http/exchange.ts'
import { firstValue } from '../http/header.ts'
import { jsonObjectIn } from '../http/json-object.ts'
import { reasonIn, toReason } from '../http/reason.ts'
import { retryAfterMs } from '../http/retry-after.ts'
import { isRetryable } from '../http/statuses.ts'
import type { EventFailure, Outcome } from '../outcome.ts'
import { maxReadChars, type Redact } from '../text/short-line.ts'
import { maxAnswerBytes } from './request.ts'

/** Maximum length of a timestamp, in characters. An RFC 3339 timestamp with nanoseconds and an offset has 35. */
const maxTimestampChars = 64
/** Maximum characters of different reasons that are converted, for one answer: a few milliseconds of work. */
const maxReasonChars = 131_072
/** Maximum number of values that are read of an answer: those of each failure, and others. */
const valuesOfFailure = 10
const usualValues = 1000
const unreadReason = 'not read, because the answer has too many different reasons'

/**
 * Converts an answer to an outcome. The status alone decides if the body does not help: proxies answer with HTML, with
 * an empty body, with half a JSON object or with the wrong content type.
 *
 * @param events number of events in the request
 * @param redact removes the token from the service's text
 */
export function answerToOutcome(answer: Answer, events: number, nowMs: number, redact?: Redact): Outcome {
  const { status } = answer
  if (status >= 200 && status < 300) return delivered(answer, events, redact)
  if (isRetryable(status)) {
    const waitMs = retryAfterMs(firstValue(answer.headers['retry-after']), nowMs, firstValue(answer.headers.date))
    return { kind: 'retryable', status, reason: reasonIn(answer, redact), retryAfterMs: waitMs }
  }
  if (status === 413) return { kind: 'too-large' }
  if (status === 415) return { kind: 'unsupported-encoding' }
  const reason = reasonIn(answer, redact)
  return status === 400 || status === 422 ? { kind: 'rejected', status, reason } : { kind: 'blocked', status, reason }
}

/**
 * Reads a 2xx answer. Without a number in `failed`, or if the body was cut off before it, the failures in the body count.
 * They also count if they are more than `failed` says.
 */
function delivered(answer: Answer, events: number, redact: Redact | undefined): Outcome {
  const body = bodyOf(answer, maxAnswerBytes(events))
  // Of a captive portal, of a firewall that blocks with 200, or of the web site to which a wrong address leads.
  if (isPage(body)) return { kind: 'delivered', doubt: { page: reasonIn(answer, redact) } }
  const fields = jsonObjectIn(body, usualValues + events * valuesOfFailure)
  const reported: readonly unknown[] = Array.isArray(fields?.failures) ? fields.failures : []
  const failures = reported.filter(isObject).slice(0, events) // others name no event, and must not displace one that is named
  const counted = typeof fields?.failed === 'number' ? Math.floor(fields.failed) : Math.min(reported.length, events)
  const failed = Math.max(counted, failures.length, 0)
  const ingested = body.isWhole && typeof fields?.ingested === 'number' ? fields.ingested : events
  const doubt = ingested + failed < events ? { ingested } : undefined
  if (failed === 0) return { kind: 'delivered', doubt }
  return { kind: 'partly-rejected', failed, failures: failuresIn(failures, redact), doubt }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Thousands of events are usually refused for the same reason, so each reason is converted only once. */
function failuresIn(failures: readonly object[], redact: Redact | undefined): EventFailure[] {
  const reasons = new Map<string, string>()
  let chars = 0
  const reasonOf = (error: unknown): string => {
    const text = typeof error === 'string' ? error : ''
    const known = reasons.get(text)
    if (known !== undefined) return known
    chars += Math.min(text.length, maxReadChars)
    if (chars > maxReasonChars) return unreadReason
    const reason = toReason(text, redact)
    reasons.set(text, reason)
    return reason
  }
  return failures.map(failure => {
    const { timestamp, error } = failure as Record<string, unknown>
    const isUsable = typeof timestamp === 'string' && timestamp.length <= maxTimestampChars
    return { timestamp: isUsable ? timestamp : undefined, reason: reasonOf(error) }
  })
}
