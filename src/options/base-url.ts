import { invalidOption } from '../errors.ts'
import { isLoopback } from './loopback.ts'

/** The two regions of the service. An organization lives in one of them. */
export type Region = 'us' | 'eu'

/** One base address for all requests, or one for each region. */
export type BaseUrl = string | { readonly us: string; readonly eu: string }

export const expectedUrl = 'an address, or { us, eu } with an address for each'

/** The path of an ingest request. An address that was copied from an example of one has it. */
const requestPath = /\/v1\/datasets(\/|$)/

/**
 * Returns the address that requests go to. Errors do not show the given address, because it may have a password or a
 * token in it.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION` if the address or the region is missing or
 * unusable
 */
export function resolveBaseUrl(baseUrl: BaseUrl | undefined, region: Region | undefined, allowInsecure: boolean): URL {
  if (baseUrl === undefined) throw invalidOption('baseUrl', `${expectedUrl}, or LOGFERRY_URL must be set`, 'nothing')
  if (typeof baseUrl === 'object' && region === undefined) {
    throw invalidOption('region', "'us' or 'eu' if baseUrl has an address for each", 'nothing')
  }
  const option = typeof baseUrl === 'object' ? `baseUrl.${region}` : 'baseUrl'
  const text = typeof baseUrl === 'object' ? baseUrl[region as Region] : baseUrl
  if (/^\s*["']/.test(text))
    throw invalidOption(option, 'an absolute http(s) address', 'one with quotes around it (not shown)', 'range')
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text) && URL.canParse(`https://${text}`)) {
    const got =
      'one without a scheme (not shown). Put https:// in front, or http:// if the service runs on this machine'
    throw invalidOption(option, 'an absolute http(s) address', got, 'range')
  }
  if (!URL.canParse(text))
    throw invalidOption(option, 'an absolute http(s) address', 'a string that is not one (not shown)', 'range')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalidOption(
      option,
      'an http(s) address',
      /^[a-z]{1,9}:$/.test(url.protocol) ? `the scheme ${url.protocol}` : 'another scheme (not shown)',
      'range',
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidOption(option, 'an address without a user name and password', 'one that has them', 'range')
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalidOption(option, 'an address without a query and fragment', 'one that has them', 'range')
  }
  if (requestPath.test(url.pathname)) {
    const expected = 'the address without the path of a request, because logferry appends /v1/datasets/…'
    throw invalidOption(option, expected, 'one that has it', 'range')
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    const expected =
      'an https: address unless the host is loopback (or allowInsecure is true: the token can then be read on the way)'
    throw invalidOption(option, expected, `http: to ${describedHost(url.hostname)}`, 'range')
  }
  return url
}

/** Returns the host for an error if it looks like one. A token given by mistake has no dots, or is longer. */
function describedHost(hostname: string): string {
  const isLikely = /^([a-z]{1,8}|\[[\da-f:.]+\]|(?=.{1,64}$)[\w-]{1,30}(\.[\w-]{1,30})+)$/.test(hostname)
  return isLikely ? hostname : 'another host (not shown)'
}
