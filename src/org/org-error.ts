import { toMessageLine } from '../text/short-line.ts'

/** Stable codes of errors about the organization. Match on these, never on the text. */
export type OrgErrorCode =
  /** The service refuses the token, or what it is for (401, 403). */
  | 'UNAUTHORIZED'
  /** There is no such organization, or no service at this address (404). */
  | 'NOT_FOUND'
  /** The service refuses what was asked (400, 422 and other 4xx). */
  | 'INVALID_REQUEST'
  /** The service was asked too often (429). */
  | 'RATE_LIMITED'
  /** The service is in trouble (5xx). */
  | 'UNAVAILABLE'
  /** No answer, or not all of it: name lookup, connection, certificate. */
  | 'UNREACHABLE'
  /** `timeoutMs` ran out. */
  | 'TIMEOUT'
  /** The answer is not an organization as the service's specification has it. */
  | 'INVALID_RESPONSE'
  /** The service points to another address (3xx); it is not followed, for the token would go there. */
  | 'REDIRECTED'
  /** The function given as `accessToken` failed, or gave no token. */
  | 'TOKEN_UNAVAILABLE'

/** Why an organization could not be read or updated. The token is neither in it nor in its causes. */
export class OrgError extends Error {
  override readonly name = 'OrgError'
  readonly code: OrgErrorCode
  /** Status of the answer; absent where none came. */
  declare readonly status?: number
  /** How long the service asked to wait before the next request, in milliseconds; absent where it did not. */
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
