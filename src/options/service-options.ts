import * as v from 'valibot'
import type { Dispatcher } from '../http/dispatcher.ts'
import { isOptionGroup } from '../own-properties.ts'
import { type BaseUrl, expectedUrl, type Region } from './base-url.ts'
import { OrgIdSchema, TokenSchema } from './checks.ts'
import { custom, type DefinitionsOf, flag, group, option, word } from './option.ts'
import type { ProxyEnv } from './proxy-env.ts'
import { strictObject } from './strict-object.ts'
import { type TlsOptions, tlsOptions } from './tls-options.ts'

/** Options that locate and authenticate the service. */
export interface ServiceOptions {
  /**
   * Base address of the service, or one for each region; then `region` selects one.
   *
   * The scheme is `https:`, or `http:` for a loopback host (see also `allowInsecure`). The address may have a path, to
   * which the service's paths are appended. It must not have a user name, password, query or fragment.
   *
   * @defaultValue the environment variable `LOGFERRY_URL`; without it, required
   */
  baseUrl?: BaseUrl | undefined
  /**
   * Region that the organization lives in: `us` or `eu`. Required if `baseUrl` has an address for each region.
   *
   * @defaultValue the environment variable `LOGFERRY_REGION`
   */
  region?: Region | undefined
  /**
   * API token, sent as `Authorization: Bearer`. Visible ASCII characters, no spaces. Giving `personalAccessToken` as
   * well throws a `TypeError`.
   *
   * @defaultValue the environment variable `LOGFERRY_TOKEN`; this or `personalAccessToken` is required
   */
  token?: string | undefined
  /**
   * Personal access token, in place of `token`; requires `orgId`. Visible ASCII characters, no spaces. Prefer an API
   * token, which has fewer rights.
   *
   * @defaultValue none
   */
  personalAccessToken?: string | undefined
  /**
   * Id of the organization, sent with a personal access token. Visible ASCII characters, no spaces.
   *
   * It is also the default of `limits.orgId`. With a `spool`, only a process with the same id adopts events.
   *
   * @defaultValue the environment variable `LOGFERRY_ORG_ID`
   */
  orgId?: string | undefined
  /**
   * Name of the header that carries `orgId`. Headers that a request has for other purposes, such as `authorization` or
   * `content-type`, throw a `RangeError`.
   *
   * @defaultValue 'x-service-org-id'
   */
  orgIdHeader?: string | undefined
  /**
   * Allows `http:` to a host other than `localhost` and the loopback addresses. The token then crosses the network
   * unprotected.
   *
   * @defaultValue false
   */
  allowInsecure?: boolean | undefined
  /**
   * An undici `Dispatcher` (undici 7 or later) that sends the requests, such as a `ProxyAgent` or an `Agent`. The
   * application owns it: `close()` leaves it open. A dispatcher of an older undici throws a `RangeError`.
   *
   * The worker that delivers after `process.exit()` cannot use it. The worker makes connections of its own, with `tls`
   * and `proxyEnv`.
   *
   * @defaultValue connections of the shipper's own, one for each concurrent request
   */
  dispatcher?: Dispatcher | undefined
  /**
   * Private CA to trust, client certificate and key, all in PEM: `{ ca, cert, key }`. Used for the shipper's own
   * connections, also at the end of the process. A `dispatcher` does not get it.
   *
   * `NODE_EXTRA_CA_CERTS` and `--use-system-ca` need no option.
   *
   * @defaultValue the certificates that Node trusts
   */
  tls?: TlsOptions | undefined
  /**
   * Proxies, as Node's own agents take them: `process.env`, or an object with `HTTPS_PROXY`, `HTTP_PROXY` and
   * `NO_PROXY`. `{}` means no proxy.
   *
   * Used for the shipper's own connections, also at the end of the process. A `dispatcher` does not get it. A service
   * on this machine (`localhost`, 127.x.x.x, [::1]) is always reached directly.
   *
   * Requires Node 22.21 or later, or 24.5 or later. On other versions the option throws a `RangeError`.
   *
   * @defaultValue `process.env` if Node uses proxies of the environment (`NODE_USE_ENV_PROXY=1`, `--use-env-proxy`),
   * else none
   */
  proxyEnv?: ProxyEnv | undefined
}

const BaseUrlSchema = v.union(
  [v.string(), strictObject({ us: v.string(expectedUrl), eu: v.string(expectedUrl) })],
  expectedUrl,
)

/**
 * Headers that authenticate a request, describe its body, or control its transport. An id in one of them breaks every
 * request.
 */
const headersOfRequests = new Set(
  (
    'accept accept-encoding authorization connection content-encoding content-length content-type cookie expect host ' +
    'keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade user-agent'
  ).split(' '),
)

const expectedHeaderName = 'the name of an HTTP header'
const expectedOwnHeader = `${expectedHeaderName} that requests do not use otherwise, unlike authorization or host`
const HeaderNameSchema = v.pipe(
  v.string(expectedHeaderName),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, expectedHeaderName),
  v.check(name => !headersOfRequests.has(name.toLowerCase()), expectedOwnHeader),
)

const DispatcherSchema = v.pipe(
  v.custom<Dispatcher>(
    value => typeof (value as Dispatcher | null)?.dispatch === 'function',
    'an undici Dispatcher (an object with a dispatch method)',
  ),
  v.check(isOfUndici7, 'a Dispatcher of undici 7 or later (this one is older)'),
)

/**
 * True unless the dispatcher is of an older undici, which calls other methods of the handler. Dispatchers carry no
 * version; the check looks for features that undici 7 removed.
 */
function isOfUndici7(dispatcher: Dispatcher & { compose?: unknown }): boolean {
  return !('interceptors' in dispatcher) && !String(dispatcher.compose).includes('ComposedDispatcher')
}

/** The definition of each of `ServiceOptions`. */
export const serviceOptions = {
  baseUrl: option({
    check: BaseUrlSchema,
    env: 'LOGFERRY_URL',
    isSecret: true,
    values: 'string, or `{ us, eu }`',
    summary: 'address of the service, or one for each region; it may contain a path',
  }),
  region: word(['us', 'eu'], {
    env: 'LOGFERRY_REGION',
    summary: 'region of the organization, if `baseUrl` has an address for each',
  }),
  token: option({
    check: TokenSchema,
    env: 'LOGFERRY_TOKEN',
    envUnlessGiven: ['personalAccessToken', 'accessToken'],
    isSecret: true,
    values: 'string',
    summary: 'API token',
  }),
  personalAccessToken: option({
    check: TokenSchema,
    isSecret: true,
    values: 'string',
    summary: 'personal access token in place of `token`; requires `orgId`',
  }),
  orgId: option({
    check: OrgIdSchema,
    env: 'LOGFERRY_ORG_ID',
    isSecret: true,
    values: 'string',
    summary: 'id of the organization, sent with a personal access token',
  }),
  orgIdHeader: option({
    check: HeaderNameSchema,
    isSecret: true,
    values: 'string',
    default: 'x-service-org-id',
    summary: 'name of the header that carries `orgId`',
  }),
  allowInsecure: flag({
    default: false,
    summary:
      'allows plain http to hosts other than `localhost`, 127.x.x.x and [::1]; the commands have `--allow-insecure`',
  }),
  dispatcher: option({
    check: DispatcherSchema,
    values: 'undici `Dispatcher`',
    summary:
      'a dispatcher of the application, of undici 7 or later. The connection at `process.exit()` does not use the dispatcher',
  }),
  tls: group<TlsOptions>({
    options: tlsOptions,
    shape: '{ ca, cert, key }',
    isSecret: true,
    summary: 'a private CA, a client certificate, see [TLS](#tls)',
  }),
  proxyEnv: custom({
    accepts: isOptionGroup,
    expected: 'an object: { HTTPS_PROXY, HTTP_PROXY, NO_PROXY }, or process.env',
    isSecret: true,
    values: '`process.env`, or `{ HTTPS_PROXY, HTTP_PROXY, NO_PROXY }`',
    defaultText: 'the environment with `NODE_USE_ENV_PROXY=1`',
    summary: 'proxies on the way to the service, see [Proxies](#proxies)',
  }),
} satisfies DefinitionsOf<ServiceOptions>
