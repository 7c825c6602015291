import { isIPv4 } from 'node:net'
import type { ResolvedProxy } from '../../options/proxy-env.ts'

/** A host and a port to connect to. */
export interface Target {
  readonly host: string
  readonly port: number
}

/** Returns the address of the proxy that leads to a host; `undefined` if the host is reached directly. */
export function proxyTo({ host, port }: Target, { env }: Pick<ResolvedProxy, 'env'>): URL | undefined {
  const url = env.https_proxy ?? env.http_proxy
  if (url === undefined || isExcepted(host.toLowerCase(), port, env.no_proxy ?? '')) return undefined
  return new URL(url)
}

/** Returns the address of a proxy without its credentials. */
export function shownProxy({ protocol, host }: URL): string {
  return `${protocol}//${host}`
}

/** Returns the header with the credentials of a proxy, if its address has any. */
export function basicAuth({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {}
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` }
}

/**
 * True if `NO_PROXY` names the host, by the rules of Node.
 *
 * @see https://nodejs.org/api/http.html#built-in-proxy-support
 */
function isExcepted(host: string, port: number, noProxy: string): boolean {
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some(entry => {
      if (entry === '') return false
      const [, name = '', ofPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
      if (ofPort !== undefined && Number(ofPort) !== port) return false
      return entry === '*' || isNamed(host, name)
    })
}

function isNamed(host: string, name: string): boolean {
  const [from = '', to] = name.split('-')
  if (to !== undefined && isIPv4(host) && isIPv4(from) && isIPv4(to)) {
    return numberOf(from) <= numberOf(host) && numberOf(host) <= numberOf(to)
  }
  return host === name || (/^\*?\./.test(name) && host.endsWith(name.replace(/^\*/, '')))
}

function numberOf(address: string): number {
  return address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0)
}
