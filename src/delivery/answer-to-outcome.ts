import { bodyOf } from '../http/answer-body.ts'
import type { Answer } from '../http/exchange.ts'
import { firstValue } from '../http/header.ts'
import { jsonObject } from '../http/json-object.ts'
import { reasonIn, toReason } from '../http/reason.ts'
import { retryAfterMs } from '../http/retry-after.ts'
import type { EventFailure, Outcome } from '../outcome.ts'
import type { Redact } from '../text/short-line.ts'
import { maxAnswerBytes } from './request.ts'

/** A time stamp in RFC 3339 with nanoseconds and an offset has 35 characters. */
const maxTimestampChars = 64

/**
 * Decides what an answer means, by its status alone wherever the body does not help: proxies answer with HTML, with
 * nothing, with half a JSON object and with the wrong content type.
 *
 * @param events how many it is to
 * @param redact takes the token out of what the service says
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

/** 430 is what the public service that resembles this one answers beside 429. */
export function isThrottled(status: number | undefined): status is 429 | 430 {
  return status === 429 || status === 430
}

function isRetryable(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || isThrottled(status)
}

/** Where less arrived than was sent, what is there counts: `failed`, or at least the failures that are told of. */
function delivered(answer: Answer, events: number, redact: Redact | undefined): Outcome {
  const { text, isWhole } = bodyOf(answer, maxAnswerBytes(events))
  const body = jsonObject(text, isWhole)
  const told = Array.isArray(body?.failures) ? body.failures.slice(0, events) : []
  const failed = typeof body?.failed === 'number' ? Math.floor(body.failed) : isWhole ? 0 : told.length
  if (!(failed > 0)) return { kind: 'delivered' }
  return { kind: 'partly-rejected', failed, failures: failuresIn(told, redact) }
}

/** Thousands of events are refused for the same reason as a rule: it is read once. */
function failuresIn(told: readonly unknown[], redact: Redact | undefined): EventFailure[] {
  const reasons = new Map<unknown, string>()
  const reasonOf = (error: unknown): string => {
    const reason = reasons.get(error) ?? toReason(typeof error === 'string' ? error : '', redact)
    reasons.set(error, reason)
    return reason
  }
  return told.map(one => {
    const { timestamp, error } = (one ?? {}) as Record<string, unknown>
    const isUsable = typeof timestamp === 'string' && timestamp.length <= maxTimestampChars
    return { timestamp: isUsable ? timestamp : undefined, reason: reasonOf(error) }
  })
}
