import type { Request } from '../http/exchange.ts'
import { ownProperties } from '../options/own-properties.ts'
import { withoutTrailing } from '../text/without-trailing.ts'

/** What is asked of the service, whoever asks. */
export interface Operation {
  readonly method: 'GET' | 'PUT'
  /** Id of the organization. */
  readonly id: string
  /** A JSON object. */
  readonly body?: Uint8Array | undefined
}

/** The request for an operation. The id is one segment of its path, whatever it holds. */
export function orgRequest(
  baseUrl: URL,
  { method, id, body }: Operation,
  authentication: Readonly<Record<string, string>>,
): Request {
  const headers = { ...authentication, accept: 'application/json', 'user-agent': 'logferry' }
  const path = `${withoutTrailing(baseUrl.pathname, '/')}/v2/orgs/${encodeURIComponent(id)}`
  if (body === undefined) return ownProperties({ method, origin: baseUrl.origin, path, headers })
  return { method, origin: baseUrl.origin, path, headers: { ...headers, 'content-type': 'application/json' }, body }
}
