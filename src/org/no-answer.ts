import { withoutSourceFiles } from '../http/reason.ts'
import { proxyHint, type ResolvedProxy } from '../options/proxy-env.ts'
import { type Redact, toShortLine } from '../text/short-line.ts'
import { OrgError } from './org-error.ts'
import { printableCause } from './printable-cause.ts'

/** Converts the failure of a request that got no answer to an `OrgError`. */
export function noAnswer(error: unknown, redact: Redact, proxy?: ResolvedProxy | undefined): OrgError {
  const cause = printableCause(error, redact)
  const { code = '', message } = cause as { code?: string; message: string }
  const reason = toShortLine([code, withoutSourceFiles(message)].filter(Boolean).join(': '))
  // Node's parser gives such an error for an invalid answer. If the application supplies a dispatcher, undici gives one
  // of its own.
  if (code.startsWith('HPE_') || cause.name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new OrgError('INVALID_RESPONSE', `the answer is not valid HTTP; check baseUrl (${reason})`, { cause })
  }
  const hint = proxy === undefined ? '' : proxyHint(proxy, code, message)
  return new OrgError('UNREACHABLE', `the service did not answer; check baseUrl and the network (${reason}${hint})`, {
    cause,
  })
}
