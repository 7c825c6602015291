import { cutText } from './json-text.ts'

/**
 * Headers that are kept. A client chooses the names of its headers, and each name would become a field of the dataset.
 * Many other headers also hold secrets (`authorization`, `cookie`, keys under any name).
 */
export const requestHeaders = ['host', 'user-agent', 'content-type', 'content-length', 'x-request-id']
export const responseHeaders = ['content-type', 'content-length']

/** Maximum bytes of a URL, and of a header. */
const maxUrlBytes = 2048
const maxHeaderBytes = 300

/**
 * Returns the headers found, or `undefined` if there are none: `response.writeHead(200, headers)` leaves no headers to
 * be found.
 */
export function headersOf(names: readonly string[], header: (name: string) => unknown): object | undefined {
  const headers = names.map(name => [name, headerText(header(name))] as const)
  const present = headers.filter(([, value]) => value !== undefined)
  return present.length === 0 ? undefined : Object.fromEntries(present)
}

/**
 * Returns a URL. One that is too long loses its query as a whole: a part of a secret in it might not be recognized as
 * such.
 */
export function urlOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const query = value.length > maxUrlBytes / 4 && Buffer.byteLength(value) > maxUrlBytes ? value.indexOf('?') : -1
  return cutText(query < 0 ? value : `${value.slice(0, query)}?…`, maxUrlBytes)
}

/** Returns the value of a header or the like. */
export function headerText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? cutText(value, maxHeaderBytes) : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
