import { bodyOf } from '../http/answer-body.ts'
import type { Answer } from '../http/exchange.ts'
import { firstValue } from '../http/header.ts'
import { reasonIn } from '../http/reason.ts'
import { retryAfterMs } from '../http/retry-after.ts'
import type { Redact } from '../text/short-line.ts'
import { OrgError } from './org-error.ts'
import type { Org } from './organization.ts'
import { readOrg, type Tolerance } from './organization-schema.ts'

/** An organization takes a few KiB, but nothing limits its lists and maps; ours does: 1 MiB. */
export const maxAnswerBytes = 1_048_576

/**
 * The organization that an answer holds, or the error it means. Decided by the status; the content type does not matter.
 *
 * @param redact takes the token out of what the service says
 * @param tolerance without it, every field must be as specified
 */
export function answerToOrg(answer: Answer, redact: Redact, nowMs: number, tolerance?: Tolerance): Org | OrgError {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return bodyToOrg(answer, redact, tolerance)
  const said = `status ${status}: ${reasonIn(answer, redact)}`
  if (status < 400) {
    const message = `redirects are not followed: baseUrl must be the service's own address (${said})`
    return new OrgError('REDIRECTED', message, { status })
  }
  if (status === 401 || status === 403) {
    const message = `the service refuses the token: is it valid, and may it do this with this organization? (${said})`
    return new OrgError('UNAUTHORIZED', message, { status })
  }
  if (status === 404) {
    return new OrgError('NOT_FOUND', `no such organization: check its id, and baseUrl (${said})`, { status })
  }
  const details = {
    status,
    retryAfterMs: retryAfterMs(firstValue(headers['retry-after']), nowMs, firstValue(headers.date)),
  }
  // 430 is what the public service that resembles this one answers beside 429.
  if (status === 429 || status === 430) {
    return new OrgError('RATE_LIMITED', `the service was asked too often: ask later (${said})`, details)
  }
  if (status >= 500 || status === 408 || status === 425) {
    return new OrgError('UNAVAILABLE', `the service is in trouble: ask later (${said})`, details)
  }
  return new OrgError('INVALID_REQUEST', `the service refuses the request (${said})`, { status })
}

function bodyToOrg(answer: Answer, redact: Redact, tolerance: Tolerance | undefined): Org | OrgError {
  const { status, cut } = answer
  if (cut === 'interrupted') {
    return new OrgError('UNREACHABLE', 'the connection was lost in the middle of the answer', { status })
  }
  const { text, isWhole } = bodyOf(answer, maxAnswerBytes)
  const read = isWhole ? readOrg(text, redact, tolerance) : { problem: 'it is longer than 1 MiB' }
  if ('org' in read) return read.org
  return new OrgError('INVALID_RESPONSE', `the answer is no organization of this service: ${read.problem}`, { status })
}
