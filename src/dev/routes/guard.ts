import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Answer, refusal } from '../../emulator/answer.ts'
import { Hosts, refuseAmbiguous } from '../../emulator/hosts.ts'
import { isLoopback } from '../../options/loopback.ts'
import { writeHeader } from '../protocol.ts'

export interface GuardSettings {
  readonly host: string
  readonly allowedHosts: readonly string[]
  /** Origins of web pages that may ingest. */
  readonly allowedOrigins: readonly string[]
  readonly token: string
  /** True if page and API ask for a key even on this machine. */
  readonly isPrivate: boolean
}

const keyBytes = 16

/**
 * Decides who may ask what. A page on another site can send requests to this machine, and its name can point to this
 * machine as well (DNS rebinding). So `Host`, `Origin` and `Sec-Fetch-Site` are checked before anything else.
 */
export class Guard {
  readonly #hosts: Hosts
  readonly #settings: GuardSettings
  /** True if page and API ask for a key, which the address that was printed has. */
  readonly needsKey: boolean
  readonly #session: string
  #key = newKey()

  constructor(settings: GuardSettings) {
    this.#settings = settings
    this.#hosts = new Hosts({
      ...settings,
      tls: undefined,
      remedy: 'allow it with `logferry dev --allow-host <name>`',
    })
    this.needsKey = settings.isPrivate || !isLoopback(hostInUrl(settings.host))
    // The same token gives the same session, so that a page stays open over a restart of the service.
    this.#session = createHmac('sha256', settings.token).update('session of the page').digest('base64url')
  }

  /** The key in the address of the page. It works once. */
  get key(): string {
    return this.#key
  }

  /** Refuses a request that another site may have sent. */
  refuseForeign(request: IncomingMessage, { isPage }: { isPage: boolean }): Answer | undefined {
    const refused = this.#hosts.admit(request)
    if (refused !== undefined) return refused
    const site = request.headers['sec-fetch-site']
    if (site === undefined || site === 'same-origin' || site === 'none') return undefined
    // The page itself holds no data. A link on any site may open it, but no site may embed it.
    if (isPage && request.headers['sec-fetch-dest'] === 'document' && isRead(request)) return undefined
    return refusal(403, 'foreign-site', 'another site sent this request; only the page itself may read and write here')
  }

  /** Refuses a writing request that a form or a foreign page could have sent. */
  refuseWrite({ headers, method }: IncomingMessage): Answer | undefined {
    if (method !== 'POST') return refusal(405, 'wrong-method', 'this path accepts only POST', { allow: 'POST' })
    const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
    if (type !== 'application/json') {
      return refusal(415, 'unsupported-media-type', 'the Content-Type must be application/json')
    }
    if (headers[writeHeader] === '1') return undefined
    return refusal(403, 'missing-header', `a request that writes needs the header ${writeHeader}: 1`)
  }

  /** Refuses page and API to a reader without the key. Programs send the token in its place. */
  refuseKeyless(request: IncomingMessage): Answer | undefined {
    if (!this.needsKey || this.#hasSession(request) || this.hasToken(request)) return undefined
    return refusal(
      401,
      'key-required',
      'open the address that logferry dev printed, or send the token as Authorization: Bearer',
    )
  }

  /** Exchanges the key of an address for a cookie. Returns `undefined` if the key is wrong or was used before. */
  cookieFor(key: string, port: number): string | undefined {
    if (!this.needsKey || !isEqual(key, this.#key)) return undefined
    this.#key = newKey()
    return `${cookieName(port)}=${this.#session}; Path=/dev; HttpOnly; SameSite=Strict; Max-Age=31536000`
  }

  /**
   * Refuses an ingest request of a web page, and an ambiguous one. The token admits programs, whatever name they use for
   * this machine.
   */
  refuseIngest(request: IncomingMessage): Answer | undefined {
    const ambiguous = refuseAmbiguous(request)
    if (ambiguous !== undefined) return ambiguous
    const { origin } = request.headers
    if (origin === undefined || this.#settings.allowedOrigins.includes(origin)) return undefined
    return refusal(
      403,
      'foreign-origin',
      'web pages may not ingest here; allow this origin with `logferry dev --allow-origin <origin>`',
    )
  }

  /** Returns the headers that let an allowed web page ingest, or `undefined` for any other sender. */
  corsHeaders({ headers: { origin } }: IncomingMessage): Readonly<Record<string, string>> | undefined {
    if (origin === undefined || !this.#settings.allowedOrigins.includes(origin)) return undefined
    return {
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, content-type, content-encoding',
      'access-control-max-age': '600',
      vary: 'origin',
    }
  }

  /** True if the request comes from this machine, to a name of this machine. Such a request ingests OTLP without token. */
  isLocal(request: IncomingMessage): boolean {
    return isLoopbackAddress(request.socket.remoteAddress) && this.#hosts.admit(request) === undefined
  }

  hasToken({ headers }: IncomingMessage): boolean {
    const given = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
    return given !== undefined && isEqual(given, this.#settings.token)
  }

  #hasSession({ headers, socket }: IncomingMessage): boolean {
    const name = `${cookieName(socket.localPort ?? 0)}=`
    const cookies = (headers.cookie ?? '').split(';').map(cookie => cookie.trim())
    return cookies.some(cookie => cookie.startsWith(name) && isEqual(cookie.slice(name.length), this.#session))
  }
}

/** Browsers send the cookies of every port of a host, so the name tells the port. */
function cookieName(port: number): string {
  return `logferry-dev-${port}`
}

function isRead({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}

function newKey(): string {
  return randomBytes(keyBytes).toString('base64url')
}

function hostInUrl(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address)
}

/** Compares two texts in a time that does not tell how much of them is equal. */
function isEqual(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map(text => createHmac('sha256', 'compare').update(text).digest())
  return timingSafeEqual(a as Buffer, b as Buffer)
}
