import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { hostname as machineName } from 'node:os'
import { isLoopback } from '../options/loopback.ts'
import { type Answer, refusal } from './answer.ts'
import { badText, checkTexts } from './checks.ts'

/** The settings that `Hosts` uses. */
interface HostSettings {
  readonly host: string
  readonly allowedHosts: readonly string[]
  readonly tls: object | undefined
  /** What the message of a refusal tells the user to do. @defaultValue the option and the flag of the emulator */
  readonly remedy?: string
}

const emulatorRemedy =
  'allow it with the option allowedHosts of startEmulator, or with `logferry emulator --allow-host <name>`'

/**
 * Headers that a request may carry only once. If there were two, the emulator and a proxy in front of it might each use
 * a different one.
 */
const singleHeaders = ['host', 'authorization', 'origin']

const everywhere = new Set(['0.0.0.0', '[::]'])

/**
 * Refuses requests from foreign web pages. Every page may send requests to this machine. A page whose own host name
 * points to this machine as well (DNS rebinding) could also read the received events. So the `Host` header must name a
 * known host of the emulator, and the `Origin` header, if present, must be the emulator's own.
 */
export class Hosts {
  readonly #scheme: 'http' | 'https'
  readonly #known: ReadonlySet<string | undefined>
  /**
   * True if the emulator listens on every address of the machine. Any IP address is then a safe `Host`: rebinding needs
   * a name.
   */
  readonly #isEverywhere: boolean
  readonly #remedy: string

  constructor({ host, allowedHosts, tls, remedy = emulatorRemedy }: HostSettings) {
    this.#remedy = remedy
    this.#scheme = tls === undefined ? 'http' : 'https'
    const own = hostOf(host)
    this.#isEverywhere = own !== undefined && everywhere.has(own)
    this.#known = new Set([own, ...allowedHosts.map(hostOf), this.#isEverywhere ? hostOf(machineName()) : undefined])
  }

  admit(request: IncomingMessage): Answer | undefined {
    const { httpVersion, headers } = request
    const ambiguous = refuseAmbiguous(request)
    if (ambiguous !== undefined) return ambiguous
    if (headers.host === undefined || headers.host === '') return httpVersion === '1.1' ? missingHost() : undefined
    const url = urlOf(`${this.#scheme}://`, headers.host)
    if (url === undefined || !this.#isKnown(canonical(url.hostname))) return unknownHost(this.#remedy)
    return headers.origin === undefined || headers.origin === url.origin ? undefined : foreignOrigin()
  }

  #isKnown(host: string): boolean {
    // Browsers resolve a name below `localhost` to loopback, regardless of DNS.
    return (
      isLoopback(host) ||
      host.endsWith('.localhost') ||
      this.#known.has(host) ||
      (this.#isEverywhere && isAddress(host))
    )
  }
}

/** Refuses a request with two headers of which it may carry one. */
export function refuseAmbiguous({ rawHeaders }: IncomingMessage): Answer | undefined {
  const double = singleHeaders.find(name => isDouble(rawHeaders, name))
  if (double === undefined) return undefined
  return refusal(400, 'ambiguous-header', `a request may have one ${double} header, not several`)
}

/** @throws TypeError if the value is not a list of host names and addresses */
export function checkHosts(name: string, value: unknown): readonly string[] {
  const hosts = checkTexts(name, value)
  const wrong = hosts.findIndex(host => hostOf(host) === undefined)
  if (wrong >= 0) throw badText(`${name}[${wrong}]`, 'a host name or an address', hosts[wrong])
  return hosts
}

/** Returns a host name or an address as `URL` writes it, without any port, or `undefined` if the text is neither. */
function hostOf(text: string): string | undefined {
  const url = urlOf('http://', isIPv6(text) ? `[${text}]` : text)
  return url && canonical(url.hostname)
}

/** Returns the URL of a host with an optional port, or `undefined` if the text contains anything else. */
function urlOf(scheme: string, authority: string): URL | undefined {
  const isPlain = /^[\w.:[\]-]+$/.test(authority)
  return isPlain && URL.canParse(scheme + authority) ? new URL(scheme + authority) : undefined
}

/** Returns one spelling for equal hosts: `localhost.` becomes `localhost`, and `[::ffff:7f00:1]` becomes 127.0.0.1. */
function canonical(hostname: string): string {
  const [, high, low] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(hostname) ?? []
  if (high === undefined || low === undefined) return hostname.replace(/\.$/, '')
  return [high, low]
    .map(hex => Number.parseInt(hex, 16))
    .flatMap(word => [word >> 8, word & 255])
    .join('.')
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith('[') || isIPv4(hostname)
}

function isDouble(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === name) count += 1
  return count > 1
}

function missingHost(): Answer {
  return refusal(400, 'missing-host', 'an HTTP/1.1 request needs a Host header')
}

function unknownHost(remedy: string): Answer {
  const message = `the service does not answer for this host (Host header), so that no web page can read events; ${remedy}`
  return refusal(403, 'host-not-allowed', message)
}

function foreignOrigin(): Answer {
  const message =
    'the service does not answer other web pages: the Origin header must be absent, or the address of the service'
  return refusal(403, 'origin-not-allowed', message)
}
