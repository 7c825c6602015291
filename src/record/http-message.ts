import { isProxy } from 'node:util/types'
import { cutText } from './json-text.ts'

/**
 * Headers that are kept. A client chooses the names of its headers, and each name would become a field of the dataset.
 * Many other headers also hold secrets (`authorization`, `cookie`, keys under any name).
 */
const requestHeaders = ['host', 'user-agent', 'content-type', 'content-length', 'x-request-id']
const responseHeaders = ['content-type', 'content-length']

/** Maximum bytes of a URL, and of a header. */
const maxUrlBytes = 2048
const maxHeaderBytes = 300

type Fields = Readonly<Record<PropertyKey, unknown>>

/**
 * Returns the fields to log of a request or response of `node:http` or a similar module (http2, Express, Fastify,
 * light-my-request). Returns `undefined` for any other object. The fields are named as in pino's standard serializers.
 * The object's own fields lead to sockets, and include all headers.
 */
export function httpFields(value: object): object | undefined {
  if (isProxy(value) || 'toJSON' in value) return undefined
  const message = value as Fields
  const fields = fieldsOf(message)
  if (fields !== undefined) return fields
  // Fastify wraps the message of `node:http`.
  const { raw } = message
  if (!isObject(raw) || isProxy(raw)) return undefined
  const rawFields = fieldsOf(raw)
  return rawFields && { ...idOf(message), ...rawFields }
}

/** Recognizes messages by their fields, because they have several classes. No class has to be loaded for this check. */
function fieldsOf(message: Fields): object | undefined {
  if ('rawHeaders' in message && 'httpVersion' in message) return incomingFields(message)
  return 'headersSent' in message && typeof message.getHeader === 'function' ? outgoingFields(message) : undefined
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
    remoteAddress: textOf(socket.remoteAddress, maxHeaderBytes),
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

/**
 * Returns the headers found, or `undefined` if there are none: `response.writeHead(200, headers)` leaves no headers to
 * be found.
 */
function headersOf(names: readonly string[], header: (name: string) => unknown): object | undefined {
  const headers = names.map(name => [name, textOf(header(name), maxHeaderBytes)] as const)
  const present = headers.filter(([, value]) => value !== undefined)
  return present.length === 0 ? undefined : Object.fromEntries(present)
}

/**
 * Returns a URL. One that is too long loses its query as a whole: a part of a secret in it might not be recognized as
 * such.
 */
function urlOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const query = value.length > maxUrlBytes / 4 && Buffer.byteLength(value) > maxUrlBytes ? value.indexOf('?') : -1
  return cutText(query < 0 ? value : `${value.slice(0, query)}?…`, maxUrlBytes)
}

function textOf(value: unknown, maxBytes: number): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? cutText(value, maxBytes) : undefined
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
