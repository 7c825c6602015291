import { validateHeaderName } from 'node:http'
import { ownProperties } from '../own-properties.ts'
import type { BodyLimits } from './body.ts'
import { badText, checkInteger, checkList, checkOptions, checkText } from './checks.ts'
import { type Enforcement, enforcedLimits, type Limit } from './enforcement.ts'
import { checkGrant } from './grant.ts'
import { checkHosts } from './hosts.ts'
import { checkOverrides, type OrgOverrides } from './organization.ts'
import type { EventBounds } from './spans.ts'
import type { TokenGrant } from './tokens.ts'

/** Options of `startEmulator`. An invalid value or an unknown name throws before the server starts. */
export interface EmulatorOptions {
  /** Address to listen on. @defaultValue '127.0.0.1', reachable from this machine only */
  host?: string | undefined
  /**
   * Hosts that the emulator answers for (header `Host`), in addition to loopback names and `host`. An entry is a name
   * or an address, such as the name of a container; a port in it is ignored.
   *
   * A request for any other host gets a 403. Otherwise a web page whose own name points to this machine could read the
   * received events. If `host` is `0.0.0.0` or `::`, all IP addresses and the name of the machine are allowed as well.
   *
   * @defaultValue []
   */
  allowedHosts?: readonly string[] | undefined
  /** Port to listen on. Integer, 0 to 65535; 0 selects a free port. @defaultValue 0 */
  port?: number | undefined
  /** Path in front of every path of the service, such as `/edge`. @defaultValue '', none */
  basePath?: string | undefined
  /** Key and certificate in PEM. With them the emulator serves HTTPS. @defaultValue none: HTTP */
  tls?: { key: string | Buffer; cert: string | Buffer } | undefined
  /**
   * Fields of the default organization to override.
   *
   * @defaultValue none: the default organization has every field of the specification
   */
  org?: OrgOverrides | undefined
  /** Additional organizations. Each needs a unique `id`. @defaultValue [] */
  orgs?: readonly (OrgOverrides & { id: string })[] | undefined
  /**
   * License limits to enforce: `true` for all, or an object in which the chosen limits are `true`. `emulator.enforce`
   * changes the choice later.
   *
   * @defaultValue false, none
   */
  enforce?: Enforcement | undefined
  /** Tokens to accept in addition to the three default tokens. @defaultValue [] */
  tokens?: readonly TokenGrant[] | undefined
  /** Header in which a request with a personal access token names its organization. @defaultValue 'x-service-org-id' */
  orgIdHeader?: string | undefined
  /**
   * Maximum size of a request body on the wire, in bytes. Integer from 1; a larger body gets a 413.
   *
   * @defaultValue 16 MiB
   */
  maxRequestBytes?: number | undefined
  /**
   * Maximum size of a decoded request body, in bytes. Integer from 1; a larger body gets a 413. All bodies that arrive at
   * the same time may have four times as much together, or 256 MiB if that is more. Beyond that, a request gets a 503.
   *
   * @defaultValue 64 MiB
   */
  maxDecodedBytes?: number | undefined
  /**
   * Maximum number of events in one request. Integer from 1; a request with more events gets a 413. The default is
   * twice the maximum that a shipper sends in one request.
   *
   * @defaultValue 200 000
   */
  maxRequestEvents?: number | undefined
  /**
   * Maximum nesting depth of objects and lists in an event. Integer from 1; a request with a deeper event gets a 400.
   * An object that contains no other has a depth of 1. A shipper sends about 70 levels at most.
   *
   * @defaultValue 256
   */
  maxNestingDepth?: number | undefined
  /**
   * Maximum size of one event, in bytes. Integer from 1; a request with a larger event gets a 413. A shipper sends one
   * million bytes at most, unless its own `maxEventBytes` is higher, which may be up to the default here.
   *
   * An event is read in one go, so other requests wait meanwhile: half a second or more for an event of that size.
   *
   * @defaultValue 16 MiB
   */
  maxEventBytes?: number | undefined
  /**
   * Maximum memory for received events, in bytes. Integer from 1. Beyond it, the emulator forgets the oldest requests.
   *
   * The sum counts the decoded bodies, 8 bytes per event, 1,024 bytes per request, the names of datasets, and 512 bytes
   * per dataset.
   *
   * @defaultValue 512 MiB
   */
  maxStoredBytes?: number | undefined
}

/** The options, checked and with their defaults. */
export interface Settings extends BodyLimits, EventBounds {
  host: string
  allowedHosts: readonly string[]
  port: number
  basePath: string
  tls: EmulatorOptions['tls']
  /** The organizations, the default organization first. */
  orgs: readonly OrgOverrides[]
  enforced: ReadonlySet<Limit>
  tokens: readonly TokenGrant[]
  orgIdHeader: string
  maxStoredBytes: number
}

const MiB = 1024 * 1024

const optionNames = Object.keys({
  host: true,
  allowedHosts: true,
  port: true,
  basePath: true,
  tls: true,
  org: true,
  orgs: true,
  enforce: true,
  tokens: true,
  orgIdHeader: true,
  maxRequestBytes: true,
  maxDecodedBytes: true,
  maxRequestEvents: true,
  maxNestingDepth: true,
  maxEventBytes: true,
  maxStoredBytes: true,
} satisfies Record<keyof EmulatorOptions, true>)

/**
 * Checks the options and fills in the defaults.
 *
 * @throws TypeError | RangeError if an option is unknown or its value is invalid
 */
export function settingsOf(options: EmulatorOptions): Settings {
  const given = checkOptions('startEmulator: options', options, optionNames)
  const { host, allowedHosts, port, basePath, tls, org, orgs, enforce, tokens, orgIdHeader } = given
  const { maxRequestBytes, maxDecodedBytes, maxRequestEvents, maxNestingDepth, maxEventBytes, maxStoredBytes } = given
  return {
    host: checkText(named('host'), host ?? '127.0.0.1'),
    allowedHosts: checkHosts(named('allowedHosts'), allowedHosts ?? []),
    port: checkInteger(named('port'), port ?? 0, 0, 65_535),
    basePath: checkBasePath(basePath ?? ''),
    tls: checkTls(tls),
    orgs: checkOrgs([org ?? {}, ...checkList(named('orgs'), orgs ?? [])]),
    enforced: enforcedLimits(named('enforce'), enforce ?? false),
    tokens: checkTokens(tokens ?? []),
    orgIdHeader: checkHeaderName(orgIdHeader ?? 'x-service-org-id'),
    maxRequestBytes: checkInteger(named('maxRequestBytes'), maxRequestBytes ?? 16 * MiB, 1, Number.MAX_SAFE_INTEGER),
    maxDecodedBytes: checkInteger(named('maxDecodedBytes'), maxDecodedBytes ?? 64 * MiB, 1, Number.MAX_SAFE_INTEGER),
    maxRequestEvents: checkInteger(named('maxRequestEvents'), maxRequestEvents ?? 200_000, 1, Number.MAX_SAFE_INTEGER),
    maxNestingDepth: checkInteger(named('maxNestingDepth'), maxNestingDepth ?? 256, 1, Number.MAX_SAFE_INTEGER),
    maxEventBytes: checkInteger(named('maxEventBytes'), maxEventBytes ?? 16 * MiB, 1, Number.MAX_SAFE_INTEGER),
    maxStoredBytes: checkInteger(named('maxStoredBytes'), maxStoredBytes ?? 512 * MiB, 1, Number.MAX_SAFE_INTEGER),
  }
}

function checkBasePath(path: string): string {
  if (typeof path === 'string' && /^(?:\/[A-Za-z0-9._~-]+)*\/?$/.test(path)) return path.replace(/\/$/, '')
  throw badText(named('basePath'), "a path such as '/edge'", path)
}

function checkHeaderName(name: string): string {
  try {
    validateHeaderName(name)
  } catch {
    throw badText(named('orgIdHeader'), 'the name of a header', name)
  }
  return name.toLowerCase()
}

function checkOrgs(orgs: readonly OrgOverrides[]): readonly OrgOverrides[] {
  return orgs.map((overrides, index) => {
    const name = named(index === 0 ? 'org' : `orgs[${index - 1}]`)
    const org = checkOverrides(name, overrides)
    if (index > 0) checkText(`${name}.id`, org.id)
    return org
  })
}

// The next two functions check secrets, so no error of theirs contains a key or a token.

function checkTls(tls: EmulatorOptions['tls']): EmulatorOptions['tls'] {
  if (tls === undefined) return tls
  const own = typeof tls === 'object' && tls !== null ? ownProperties(tls) : undefined
  if (own?.key && own.cert) return own
  throw new TypeError(`${named('tls')} must be an object with key and cert`)
}

function checkTokens(tokens: readonly TokenGrant[]): readonly TokenGrant[] {
  if (!Array.isArray(tokens)) throw new TypeError(`${named('tokens')} must be a list`)
  return tokens.map((grant, index) => checkGrant(named(`tokens[${index}]`), grant))
}

/** Returns the name of an option as messages have it, after the function that was called. */
function named(option: string): string {
  return `startEmulator: ${option}`
}
