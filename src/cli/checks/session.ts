import { Connections } from '../../http/connections.ts'
import { Credentials } from '../../http/credentials.ts'
import type { Answer } from '../../http/exchange.ts'
import type { ShipperOptions } from '../../index.ts'
import type { ResolvedOptions } from '../../options/resolved-options.ts'
import type { Org } from '../../org.ts'
import type { Redact } from '../../text/short-line.ts'

/** The settings of one run of `logferry check`. */
export interface CheckSettings {
  /** Options of a shipper, as the application would give them; the environment provides the others. */
  readonly options: ShipperOptions
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Access token that reads the organization; without it, the token of the options does. */
  readonly accessToken: string | undefined
  /** Directory of the spool, if it is to be checked. */
  readonly spool: string | undefined
  /** Directory of the application, with its `package.json`. */
  readonly application: string
  /** True if the accepted size is to be measured, which sends megabytes. */
  readonly probesSize: boolean
  /** Maximum wait for an answer, in milliseconds. */
  readonly timeoutMs: number
}

/** The first answer of the service. */
export interface FirstAnswer {
  readonly answer: Answer
  readonly startedAtMs: number
  /** Time from the request to the answer, in milliseconds, with the time to connect. */
  readonly tookMs: number
}

/** What the checks of one run find out for those after them. */
export class Session {
  readonly settings: CheckSettings
  #resolved: ResolvedOptions | undefined
  #connections: Connections | undefined
  #first: FirstAnswer | undefined
  /** The organization, if it could be read. */
  organization: Org | undefined

  constructor(settings: CheckSettings) {
    this.settings = settings
  }

  /** The checked options. The check of the options sets them. */
  get resolved(): ResolvedOptions {
    return known(this.#resolved)
  }

  set resolved(options: ResolvedOptions) {
    this.#resolved = options
  }

  get first(): FirstAnswer {
    return known(this.#first)
  }

  set first(answer: FirstAnswer) {
    this.#first = answer
  }

  /** The destination of events in the spool, if the options are known. */
  get destination(): string | undefined {
    return this.#resolved?.spool?.destination
  }

  /** A connection to the service, as an application makes it: with its TLS options, and through its proxy. */
  get connections(): Connections {
    const { baseUrl, tls, proxy } = this.resolved
    this.#connections ??= new Connections(baseUrl.origin, 1, { tls, proxy })
    return this.#connections
  }

  /** Host and port of the service, the host as `node:net` takes it. */
  get target(): { readonly host: string; readonly port: number } {
    const { hostname, port, protocol } = this.resolved.baseUrl
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) }
  }

  /** Removes every token, and the password of the proxy, from a text. */
  readonly redact: Redact = (text, kind) => {
    const { accessToken } = this.settings
    const withoutToken = this.#resolved?.credentials.redact(text, kind) ?? text
    const withoutPassword = this.#resolved?.proxy.credentials?.redact(withoutToken, kind) ?? withoutToken
    return accessToken === undefined ? withoutPassword : new Credentials(accessToken).redact(withoutPassword, kind)
  }

  close(): void {
    this.#connections?.destroy()
  }
}

/** A check runs only if the checks before it, which set its values, have succeeded. */
function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a check has no result of the checks that it is after')
  return value
}
