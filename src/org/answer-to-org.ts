import { bodyOf } from '../http/answer-body.ts'
import type { Answer } from '../http/exchange.ts'
import { firstValue } from '../http/header.ts'
import { reasonIn } from '../http/reason.ts'
import { retryAfterMs } from '../http/retry-after.ts'
import { isInTrouble, isThrottled } from '../http/statuses.ts'
import type { Redact } from '../text/short-line.ts'
import { OrgError } from './org-error.ts'
import type { Org } from './organization.ts'
import { readOrg, type Tolerance } from './organization-schema.ts'

/**
 * Maximum size of an answer, in bytes: 1 MiB. An organization takes a few KiB, but the service does not limit its lists
 * and maps.
 */
export const maxAnswerBytes = 1_048_576

/**
 * Converts an answer to the organization that it holds, or to an error. The status decides; the content type does not
 * matter.
 *
 * @param redact removes the token from texts of the service
 * @param tolerance accepts some invalid fields; without it, every field must match the specification
 */
export function answerToOrg(answer: Answer, redact: Redact, nowMs: number, tolerance?: Tolerance): Org | OrgError {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return bodyToOrg(answer, redact, tolerance)
  const said = `status ${status}: ${reasonIn(answer, redact)}`
  if (status < 400) {
    const message = `redirects are not followed; set baseUrl to the service's own address (${said})`
    return new OrgError('REDIRECTED', message, { status })
  }
  if (status === 401 || status === 403) {
    const message = `the service refuses the token; check that it is valid and may access this organization (${said})`
    return new OrgError('UNAUTHORIZED', message, { status })
  }
  if (status === 404) {
    return new OrgError('NOT_FOUND', `the organization was not found; check its id and baseUrl (${said})`, { status })
  }
  const details = {
    status,
    retryAfterMs: retryAfterMs(firstValue(headers['retry-after']), nowMs, firstValue(headers.date)),
  }
  if (isThrottled(status)) {
    return new OrgError('RATE_LIMITED', `the service's rate limit is reached; try again later (${said})`, details)
  }
  if (isInTrouble(status)) {
    return new OrgError('UNAVAILABLE', `the service is unavailable; try again later (${said})`, details)
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
  return new OrgError('INVALID_RESPONSE', `the answer is not a valid organization: ${read.problem}`, { status })
}
