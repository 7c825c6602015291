import { bareObject } from './bare-object.ts'
import { markMoreFieldsLeftOut } from './left-out.ts'
import { headersOf, headerText, numberOf, requestHeaders, responseHeaders, urlOf } from './message-fields.ts'

/** A class of the Fetch standard whose objects have no fields of their own. */
type FetchKind = 'Request' | 'Response' | 'Headers'

/** A member that each class has, so that a class of the application with the same tag is not taken for it. */
const memberOf: ReadonlyMap<unknown, string> = new Map([
  ['Request', 'bodyUsed'],
  ['Response', 'bodyUsed'],
  ['Headers', 'forEach'],
])

/** Headers whose values are never shipped, because they are credentials by the standard. */
const credentials: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])
const redacted = '[redacted]'

/** User name and password in a URL, which `fetch` itself refuses. */
const userInUrl = /^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i

/** Maximum number of headers that are shipped of `Headers`. A client may send thousands, and each becomes a field. */
const maxHeaders = 100

/**
 * Recognizes an object of the Fetch standard by its tag, which undici's classes have in common with those of Hono,
 * Next.js, node-fetch, Deno and Bun. So no global is touched: Node loads `fetch` when a program first touches one of
 * its classes. A proxy is recognized, too, because Next.js passes one to its handlers.
 */
export function fetchKind(value: object): FetchKind | undefined {
  try {
    const tag = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag]
    const member = tag === undefined ? undefined : memberOf.get(tag)
    if (member === undefined || !(member in value) || hasToJson(value)) return undefined
    return tag as FetchKind
  } catch {
    return undefined // a proxy, or a getter that throws
  }
}

function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

/**
 * Returns the fields to log of a request or response, named as those of `node:http`. Each field is read when the caller
 * asks for it: the object may be one of the application, with getters that throw or take long.
 */
export function fetchFields(value: object, kind: 'Request' | 'Response'): object {
  return kind === 'Request' ? requestFields(value as Request) : responseFields(value as Response)
}

type Request = Readonly<Record<'method' | 'url' | 'headers', unknown>>
type Response = Readonly<Record<'status' | 'headers', unknown>>

function requestFields(request: Request): object {
  return {
    get method() {
      return headerText(request.method)
    },
    get url() {
      const { url } = request
      return urlOf(typeof url === 'string' ? url.replace(userInUrl, '$1') : undefined)
    },
    get headers() {
      return keptHeaders(requestHeaders, request.headers)
    },
  }
}

function responseFields(response: Response): object {
  return {
    get statusCode() {
      return numberOf(response.status)
    },
    get headers() {
      return keptHeaders(responseHeaders, response.headers)
    },
  }
}

function keptHeaders(names: readonly string[], headers: unknown): object | undefined {
  const { get } = headers as { get: unknown }
  return typeof get === 'function' ? headersOf(names, name => get.call(headers, name)) : undefined
}

/** Returns the names and values of `Headers`, at most `maxHeaders`. A name may be any text, such as `__proto__`. */
export function allHeaders(headers: Iterable<unknown>, mayReadOn: () => boolean): object {
  const fields = bareObject()
  let read = 0
  for (const entry of headers) {
    if (read === maxHeaders || !mayReadOn()) {
      markMoreFieldsLeftOut(fields, read)
      break
    }
    const [name, value] = entry as readonly unknown[]
    if (typeof name === 'string') fields[name] = credentials.has(name.toLowerCase()) ? redacted : headerText(value)
    read++
  }
  return fields
}
