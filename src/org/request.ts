import type { Request } from '../http/exchange.ts'
import { ownProperties } from '../own-properties.ts'
import { withoutTrailing } from '../text/without-trailing.ts'

/** An operation of the service, without authentication. */
export interface Operation {
  readonly method: 'GET' | 'PUT'
  /** Identifier of the organization. */
  readonly id: string
  /** A JSON object, encoded. */
  readonly body?: Uint8Array | undefined
}

/** Returns the request for an operation. The id is encoded, so that it is always one segment of the path. */
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
