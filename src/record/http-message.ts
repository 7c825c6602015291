import { isProxy } from 'node:util/types'
import { allHeaders, fetchFields, fetchKind } from './fetch-message.ts'
import { headersOf, headerText, numberOf, requestHeaders, responseHeaders, urlOf } from './message-fields.ts'

type Fields = Readonly<Record<PropertyKey, unknown>>

/**
 * Returns the fields to log of a request or response of `node:http` or a similar module (http2, Express, Fastify,
 * light-my-request), or of `fetch`. Returns `undefined` for any other object. The fields are named as in pino's
 * standard serializers. The object's own fields lead to sockets and include all headers, or do not exist.
 *
 * @param mayReadOn returns false if the time for reading is up
 */
export function httpFields(value: object, mayReadOn = always): object | undefined {
  const kind = fetchKind(value)
  if (kind === 'Headers') return allHeaders(value as Iterable<unknown>, mayReadOn)
  if (kind !== undefined) return fetchFields(value, kind)
  return fieldsReader(value)?.()
}

const always = (): boolean => true

/** True if `httpFields` has fields of an object. Reads no headers. */
export function isHttp(value: object): boolean {
  return fetchKind(value) !== undefined || fieldsReader(value) !== undefined
}

/** Returns a function that reads the fields of a message of `node:http`, or `undefined` for any other object. */
function fieldsReader(value: object): (() => object) | undefined {
  if (isProxy(value) || 'toJSON' in value) return undefined
  const message = value as Fields
  const reader = readerOf(message) ?? redirectableReader(message)
  if (reader !== undefined) return reader
  // Fastify wraps the message of `node:http`, and Hono the request of `fetch`.
  const { raw } = message
  if (!isObject(raw)) return undefined
  if (typeof message.header === 'function' && fetchKind(raw) === 'Request') return () => fetchFields(raw, 'Request')
  const rawReader = isProxy(raw) ? undefined : readerOf(raw)
  return rawReader && (() => ({ ...idOf(message), ...rawReader() }))
}

/** Recognizes messages by their fields, because they have several classes. No class has to be loaded for this check. */
function readerOf(message: Fields): (() => object) | undefined {
  if ('rawHeaders' in message && 'httpVersion' in message) return () => incomingFields(message)
  const isOutgoing = 'headersSent' in message && typeof message.getHeader === 'function'
  return isOutgoing ? () => outgoingFields(message) : undefined
}

/**
 * Recognizes a request that follow-redirects makes, in whose internals are all headers. The errors of axios have such a
 * request if no answer came. If `node:http` refuses the request, only its options tell where it was to go.
 */
function redirectableReader(message: Fields): (() => object) | undefined {
  if (!('_redirectCount' in message)) return undefined
  const { _currentRequest: request, _options: options } = message
  if (isObject(request)) return isProxy(request) ? undefined : readerOf(request)
  if (!isObject(options) || isProxy(options)) return undefined
  return () => ({ method: options.method, url: urlOf(options.path) })
}

function incomingFields(message: Fields): object {
  const { method, headers, statusCode } = message
  const header = (name: string): unknown => (isObject(headers) ? headers[name] : undefined)
  // A message without a method is a response that a client received.
  if (typeof method !== 'string') return { statusCode, headers: headersOf(responseHeaders, header) }
  const socket = isObject(message.socket) ? message.socket : {}
  return {
    ...idOf(message),
    method,
    url: urlOf(message.originalUrl ?? message.url),
    headers: headersOf(requestHeaders, header),
    remoteAddress: headerText(socket.remoteAddress),
    remotePort: numberOf(socket.remotePort),
  }
}

function outgoingFields(message: Fields): object {
  const header = (name: string): unknown => (message as { getHeader(name: string): unknown }).getHeader(name)
  if ('statusCode' in message) {
    return {
      statusCode: message.headersSent === true ? numberOf(message.statusCode) : null,
      headers: headersOf(responseHeaders, header),
    }
  }
  const { protocol, host, path } = message
  const url = [protocol, '//', host, path].every(part => typeof part === 'string')
    ? `${protocol}//${host}${path}`
    : path
  return { method: message.method, url: urlOf(url), headers: headersOf(requestHeaders, header) }
}

/** Returns the id that a framework gave a request. */
function idOf({ id }: Fields): object {
  return typeof id === 'string' || typeof id === 'number' ? { id } : {}
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
