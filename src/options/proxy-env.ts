import { invalidOption } from '../errors.ts'
import { Credentials } from '../http/credentials.ts'
import type { TextKind } from '../text/short-line.ts'
import { kindOf } from './described.ts'
import type { Environment } from './environment.ts'
import { isLoopback } from './loopback.ts'
import { isUntrustedCertificate } from './untrusted-certificate.ts'

/**
 * Variables that name proxies, as Node reads them. A name in lower case takes precedence over the same name in upper
 * case.
 *
 * Each proxy is an `http://` or `https://` address. Only the one for the scheme of the service is checked and used. A
 * value that is not a string throws a `TypeError`; a text that is not such an address throws a `RangeError`.
 */
export interface ProxyEnv {
  readonly HTTP_PROXY?: string | undefined
  readonly HTTPS_PROXY?: string | undefined
  readonly NO_PROXY?: string | undefined
  readonly http_proxy?: string | undefined
  readonly https_proxy?: string | undefined
  readonly no_proxy?: string | undefined
}

/** Proxy data for a connection, and for the worker that delivers at the end of the process. */
export interface ResolvedProxy {
  /**
   * Variables for Node's agents: the proxy for the scheme of the service, and the hosts that are reached directly.
   * Empty without a proxy.
   */
  readonly env: Readonly<Record<string, string>>
  /** Credentials that the proxy gets, to be removed from texts from outside. */
  readonly credentials: ProxyCredentials | undefined
  /** Name of a variable of the environment that is set, but has no effect. */
  readonly unused: string | undefined
  /** Name of a variable that is set for the other scheme, if none is set for that of the service. */
  readonly ofOtherScheme: string | undefined
}

/** User name and password in the address of a proxy. Node 22 repeats the address in errors. */
class ProxyCredentials {
  readonly #inAddress: string
  readonly #secret: Credentials

  constructor(inAddress: string, secret: string) {
    this.#inAddress = inAddress
    this.#secret = new Credentials(secret)
  }

  redact(text: string, kind?: TextKind): string {
    return this.#secret.redact(text.replaceAll(this.#inAddress, ''), kind)
  }
}

const nodeWithProxies = 'Node 22.21 or later, or 24.5 or later'

/**
 * Returns the proxy for the service: that of the option, or that of the environment if Node uses it
 * (`NODE_USE_ENV_PROXY=1`). A host that is this machine is always reached directly. A proxy has a loopback of its own,
 * and would see the token of plain HTTP.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, without the given value: it may have a password
 * in it
 */
export function resolveProxy(given: ProxyEnv | undefined, environment: Environment, service: URL): ResolvedProxy {
  const scheme = service.protocol === 'https:' ? 'https' : 'http'
  const source = given ?? environment
  const name = nameIn(source, `${scheme}_proxy`)
  if (given === undefined && name === undefined) return noneFor(scheme, source, service) // the list of flags takes long to make
  const isSupported = process.allowedNodeEnvironmentFlags?.has('--use-env-proxy') ?? false
  if (given !== undefined && !isSupported) {
    throw invalidOption(
      'proxyEnv',
      `omitted with this version of Node: it needs ${nodeWithProxies}`,
      `Node ${process.versions.node}`,
      'range',
    )
  }
  const isUsed = given !== undefined || (isSupported && usesEnvironment(environment))
  if (name === undefined || isLoopback(service.hostname)) return noneFor(scheme, source, service)
  if (!isUsed) return { ...none, unused: name }
  const url = textIn(source, name)
  // Node, too, connects directly if the environment names a proxy of another kind.
  if (given === undefined && !/^https?:\/\//.test(url)) return { ...none, unused: name }
  const noProxy = nameIn(source, 'no_proxy')
  return {
    env: { [`${scheme}_proxy`]: url, ...(noProxy === undefined ? {} : { no_proxy: textIn(source, noProxy) }) },
    credentials: credentialsIn(url, given === undefined ? name : `proxyEnv.${name}`),
    unused: undefined,
    ofOtherScheme: undefined,
  }
}

const none: ResolvedProxy = { env: {}, credentials: undefined, unused: undefined, ofOtherScheme: undefined }

/** Returns what a variable does that names a proxy for the other scheme, and which one names a proxy for the service. */
export function otherScheme(name: string): string {
  const [other, own] = /^https/i.test(name) ? ['https', 'HTTP_PROXY'] : ['http', 'HTTPS_PROXY']
  return `${name} is set, but holds for ${other}:// addresses only: a proxy for this service needs ${own}`
}

function noneFor(scheme: 'http' | 'https', source: ProxyEnv | Environment, service: URL): ResolvedProxy {
  if (isLoopback(service.hostname)) return none
  return { ...none, ofOtherScheme: nameIn(source, scheme === 'https' ? 'http_proxy' : 'https_proxy') }
}

/**
 * Returns an addition to the reason why there is no connection. There is one if a proxy is used, or if an unused proxy may be
 * the way to the service. If a certificate is refused, it may be that of an `https://` proxy, to which Node does not apply
 * `tls.ca`.
 *
 * @param message message of the error: the worker of the end of the process passes on no more than that and the code
 */
export function proxyHint(proxy: ResolvedProxy, code: string | undefined, message = ''): string {
  const { env, unused, ofOtherScheme } = proxy
  if (code === 'ERR_PROXY_TUNNEL')
    return refusedCredentials.test(message) ? '; the proxy wants other credentials: correct its address' : ''
  const used = env.https_proxy ?? env.http_proxy
  const isUncertified = used?.startsWith('https:') && codesOfCertificates.test(code ?? '')
  if (!isUncertified && !codesWithoutConnection.has(code ?? '')) return ''
  if (used !== undefined) {
    const host = URL.canParse(used) ? ` ${new URL(used).host}` : ''
    // The certificate may also be that of the service: the error is the same.
    const trust = isUntrustedCertificate(code)
      ? ', whose certificate must be of an authority that Node trusts (NODE_EXTRA_CA_CERTS)'
      : ''
    const exception = env.no_proxy === undefined ? '' : ', unless NO_PROXY names the service'
    return `; requests go through the proxy${host}${trust}${exception}${trust && '; tls.ca holds for the service'}`
  }
  if (ofOtherScheme !== undefined) return `; ${otherScheme(ofOtherScheme)}`
  if (unused === undefined) return ''
  return (
    `; ${unused} is set, but not used: a proxy needs NODE_USE_ENV_PROXY=1 or the option proxyEnv, an http:// or ` +
    `https:// address, and ${nodeWithProxies}`
  )
}

/** Message of Node's error for a tunnel that the proxy has refused with 407. */
const refusedCredentials = /^Failed to establish tunnel to \S+ via \S+ HTTP\/\d\.\d 407(?!\d)/

/** Error codes that mean that there is no direct connection. */
const codesWithoutConnection = new Set('ENOTFOUND EAI_AGAIN ECONNREFUSED EHOSTUNREACH ENETUNREACH ETIMEDOUT'.split(' '))

/** Error codes that mean that a certificate is refused. */
const codesOfCertificates = /CERT|^UNABLE_TO_VERIFY|^HOSTNAME_MISMATCH$|^INVALID_(CA|PURPOSE)$/

function usesEnvironment({ NODE_USE_ENV_PROXY }: Environment): boolean {
  if (NODE_USE_ENV_PROXY === '1') return true
  return [...process.execArgv, ...(process.env.NODE_OPTIONS?.split(/\s+/) ?? [])].includes('--use-env-proxy')
}

/** Returns the name under which a variable is set, in lower or upper case. Lower case takes precedence. */
function nameIn(source: ProxyEnv | Environment, lowerCase: string): string | undefined {
  return [lowerCase, lowerCase.toUpperCase()].find(name => {
    return Object.hasOwn(source, name) && ((source as Environment)[name] ?? '') !== ''
  })
}

function textIn(source: ProxyEnv | Environment, name: string): string {
  const text: unknown = (source as Environment)[name]
  if (typeof text === 'string') return text
  throw invalidOption(`proxyEnv.${name}`, 'a string', kindOf(text))
}

function credentialsIn(url: string, option: string): ProxyCredentials | undefined {
  try {
    if (!/^https?:\/\/[^\r\n]*$/.test(url)) throw new TypeError('not the address of a proxy')
    const { username, password } = new URL(url)
    const secret = decodeURIComponent(password || username)
    decodeURIComponent(username)
    const inAddress = url.slice(url.indexOf('//') + 2, url.lastIndexOf('@') + 1)
    return secret === '' ? undefined : new ProxyCredentials(inAddress, secret)
  } catch {
    throw invalidOption(
      option,
      'the address of a proxy, http://… or https://…',
      'a string that is not one (not shown)',
      'range',
    )
  }
}
