import { bodyOf } from '../http/answer-body.ts'
import type { Answer } from '../http/exchange.ts'
import { one } from '../http/header.ts'
import { jsonObject } from '../http/json-object.ts'
import { reasonIn, short } from '../http/reason.ts'
import { retryAfterMs } from '../http/retry-after.ts'
import type { EventFailure, Outcome } from '../outcome.ts'
import { maxAnswerBytes } from './request.ts'

/** Characters of a reason that are looked at; 200 are shown. */
const maxReasonRead = 4000

/**
 * Decides what an answer means, by its status alone wherever the body does not help: proxies answer with HTML, with
 * nothing, with half a JSON object and with the wrong content type.
 *
 * @param events how many it is to
 * @param redact takes the token out of what the service says
 */
export function answerToOutcome(
  answer: Answer,
  events: number,
  nowMs: number,
  redact: (text: string) => string = text => text,
): Outcome {
  const { status } = answer
  if (status >= 200 && status < 300) return delivered(answer, events, redact)
  if (isRetryable(status)) {
    const waitMs = retryAfterMs(one(answer.headers['retry-after']), nowMs, one(answer.headers.date))
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
function delivered(answer: Answer, events: number, redact: (text: string) => string): Outcome {
  const { text, isWhole } = bodyOf(answer, maxAnswerBytes(events))
  const body = jsonObject(text, isWhole)
  const told = Array.isArray(body?.failures) ? body.failures.slice(0, events) : []
  const failed = typeof body?.failed === 'number' ? Math.floor(body.failed) : isWhole ? 0 : told.length
  if (!(failed > 0)) return { kind: 'delivered' }
  return { kind: 'partly-rejected', failed, failures: told.map(one => failureIn(one, redact)) }
}

function failureIn(value: unknown, redact: (text: string) => string): EventFailure {
  const { timestamp, error } = (value ?? {}) as Record<string, unknown>
  return {
    timestamp: typeof timestamp === 'string' ? timestamp : undefined,
    reason: typeof error === 'string' ? short(redact(error.slice(0, maxReasonRead))) : 'no reason given',
  }
}
