import { toMessageLine } from '../text/short-line.ts'

/** Stable codes of errors about an organization. Match on these codes, never on the message. */
export type OrgErrorCode =
  /** The service refuses the token, or the token may not do this with the organization (401, 403). */
  | 'UNAUTHORIZED'
  /** There is no such organization, or no service at this address (404). */
  | 'NOT_FOUND'
  /** The service refuses the request (400, 422 and other 4xx). */
  | 'INVALID_REQUEST'
  /** The service was asked too often (429, 430). */
  | 'RATE_LIMITED'
  /** The service is in trouble (5xx, 408, 425). */
  | 'UNAVAILABLE'
  /** No answer, or an incomplete one: name lookup, connection or certificate failed. */
  | 'UNREACHABLE'
  /** The call took longer than `timeoutMs`. */
  | 'TIMEOUT'
  /** The answer is not an organization that matches the service's specification, or not valid HTTP. */
  | 'INVALID_RESPONSE'
  /** The service redirects to another address (3xx). The client does not follow, because the token would go there. */
  | 'REDIRECTED'
  /** The function given as `accessToken` failed, or gave no usable token. */
  | 'TOKEN_UNAVAILABLE'

/** The reason why an organization could not be read or updated. Neither the error nor its causes contain the token. */
export class OrgError extends Error {
  override readonly name = 'OrgError'
  readonly code: OrgErrorCode
  /** HTTP status of the answer; absent if there was no answer. */
  declare readonly status?: number
  /**
   * Delay that the service asked for before the next request, in milliseconds, at most one hour. Absent if it named
   * none.
   */
  declare readonly retryAfterMs?: number

  /** @internal */
  constructor(
    code: OrgErrorCode,
    message: string,
    details: { status?: number; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    const { cause, status, retryAfterMs } = details
    super(toMessageLine(`logferry: ${message}`), cause === undefined ? undefined : { cause })
    this.code = code
    if (status !== undefined) this.status = status
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs
  }
}
