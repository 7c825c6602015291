import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { hostname as machineName } from 'node:os'
import { isLoopback } from '../options/loopback.ts'
import { type Answer, refusal } from './answer.ts'
import { checkTexts, mistake } from './checks.ts'

/** What is asked of the settings. */
export interface HostSettings {
  readonly host: string
  readonly allowedHosts: readonly string[]
  readonly tls: object | undefined
}

/** Headers of which one alone counts: which of two is meant, the emulator and a proxy in front of it may see differently. */
const singleHeaders = ['host', 'authorization', 'origin']

const everywhere = new Set(['0.0.0.0', '[::]'])

/**
 * Keeps web pages out. Every page may send requests to this machine, and one that has its own host name point here as well
 * (DNS rebinding) could read what arrived: so a request must be meant for a host that is known to be the emulator, and what a
 * page sends must come from a page of the emulator's own.
 */
export class Hosts {
  readonly #scheme: 'http' | 'https'
  readonly #known: ReadonlySet<string | undefined>
  /** Listens on every address of the machine. An address as such is no danger: rebinding takes a name. */
  readonly #isEverywhere: boolean

  constructor({ host, allowedHosts, tls }: HostSettings) {
    this.#scheme = tls === undefined ? 'http' : 'https'
    const own = hostOf(host)
    this.#isEverywhere = own !== undefined && everywhere.has(own)
    this.#known = new Set([own, ...allowedHosts.map(hostOf), this.#isEverywhere ? hostOf(machineName()) : undefined])
  }

  admit({ httpVersion, headers, rawHeaders }: IncomingMessage): Answer | undefined {
    const double = singleHeaders.find(name => isDouble(rawHeaders, name))
    if (double !== undefined)
      return refusal(400, 'ambiguous-header', `a request may have one ${double} header, not several`)
    if (headers.host === undefined || headers.host === '') return httpVersion === '1.1' ? missingHost() : undefined
    const url = urlOf(`${this.#scheme}://`, headers.host)
    if (url === undefined || !this.#isKnown(canonical(url.hostname))) return unknownHost()
    return headers.origin === undefined || headers.origin === url.origin ? undefined : foreignOrigin()
  }

  #isKnown(host: string): boolean {
    // A browser takes a name below localhost for loopback, whatever DNS says of it.
    return (
      isLoopback(host) ||
      host.endsWith('.localhost') ||
      this.#known.has(host) ||
      (this.#isEverywhere && isAddress(host))
    )
  }
}

/** @throws TypeError for anything but a list of host names and addresses */
export function checkHosts(name: string, value: unknown): readonly string[] {
  const hosts = checkTexts(name, value)
  const wrong = hosts.findIndex(host => hostOf(host) === undefined)
  if (wrong >= 0) throw mistake(`${name}[${wrong}]`, 'a host name or an address', hosts[wrong])
  return hosts
}

/** A host name or an address as `URL` writes it, without its port if it has one; `undefined` if it is none. */
function hostOf(text: string): string | undefined {
  const url = urlOf('http://', isIPv6(text) ? `[${text}]` : text)
  return url && canonical(url.hostname)
}

/** The address of a host and maybe a port, and of nothing else. */
function urlOf(scheme: string, authority: string): URL | undefined {
  const isPlain = /^[\w.:[\]-]+$/.test(authority)
  return isPlain && URL.canParse(scheme + authority) ? new URL(scheme + authority) : undefined
}

/** One of the ways to write a host: `localhost.` is `localhost`, and `[::ffff:7f00:1]` is 127.0.0.1. */
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

function unknownHost(): Answer {
  const remedy = 'name it in the option allowedHosts of startEmulator, or by `logferry emulator --allow-host <name>`'
  const message = `the emulator does not answer for the host in the Host header, so that no web page can read events; ${remedy}`
  return refusal(403, 'host-not-allowed', message)
}

function foreignOrigin(): Answer {
  const message =
    'the emulator answers no other web page: the Origin header must be absent, or the address of the emulator'
  return refusal(403, 'origin-not-allowed', message)
}
