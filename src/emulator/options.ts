import { validateHeaderName } from 'node:http'
import { inspect } from 'node:util'
import { ownProperties } from '../options/own-properties.ts'
import type { BodyLimits } from './body.ts'
import { checkInteger, checkList, checkObject, checkText, mistake } from './checks.ts'
import { type Enforcement, enforcedLimits, type Limit } from './enforcement.ts'
import { checkGrant } from './grant.ts'
import { checkHosts } from './hosts.ts'
import { checkOverrides, type OrgOverrides } from './organization.ts'
import type { EventBounds } from './spans.ts'
import type { TokenGrant } from './tokens.ts'

/** Options of `startEmulator`. A bad value or an unknown name throws before anything is started. */
export interface EmulatorOptions {
  /** Address to listen on. @defaultValue '127.0.0.1', reachable from this machine only */
  host?: string | undefined
  /**
   * Hosts that requests may be meant for (header `Host`), besides loopback names and `host`, as names or addresses: the
   * name of a container, for one. A port in them is ignored. A request for any other host is a 403: otherwise a web page
   * whose own name points to this machine could read what was received. With `host` `0.0.0.0` or `::`, addresses and the name
   * of the machine are allowed as well.
   *
   * @defaultValue []
   */
  allowedHosts?: readonly string[] | undefined
  /** Integer, 0 to 65535; 0 takes a free one. @defaultValue 0 */
  port?: number | undefined
  /** Path in front of every path of the service, such as `/edge`. @defaultValue '', none */
  basePath?: string | undefined
  /** Key and certificate, in PEM; with them the emulator speaks https. @defaultValue none: http */
  tls?: { key: string | Buffer; cert: string | Buffer } | undefined
  /** Fields of the default organization that differ. @defaultValue an organization with every field of the specification */
  org?: OrgOverrides | undefined
  /** More organizations. Each needs an `id` of its own. @defaultValue [] */
  orgs?: readonly (OrgOverrides & { id: string })[] | undefined
  /**
   * Limits of their licenses that organizations are held to: `true` for all, or those set to `true` in an object.
   * `emulator.enforce` changes it later.
   *
   * @defaultValue false, none
   */
  enforce?: Enforcement | undefined
  /** Tokens to accept besides the three default ones. @defaultValue [] */
  tokens?: readonly TokenGrant[] | undefined
  /** Header in which a personal access token names its organization. @defaultValue 'x-service-org-id' */
  orgIdHeader?: string | undefined
  /** Longest request body on the wire, in bytes, from 1; a longer one is a 413. @defaultValue 16 MiB */
  maxRequestBytes?: number | undefined
  /** Longest request body once decoded, in bytes, from 1; a longer one is a 413. @defaultValue 64 MiB */
  maxDecodedBytes?: number | undefined
  /**
   * Most events of one request, from 1; a request with more is a 413. Twice as many as a shipper ever sends in one.
   *
   * @defaultValue 200 000
   */
  maxRequestEvents?: number | undefined
  /**
   * Deepest nesting of objects and lists in an event, from 1, where an object that holds no other has a depth of 1; a request
   * with a deeper event is a 400. A shipper sends no more than about 70 levels.
   *
   * @defaultValue 256
   */
  maxNestingDepth?: number | undefined
  /**
   * Memory for what was received, in bytes, from 1. Past it the oldest requests are forgotten.
   *
   * Counts the decoded bodies, 8 bytes an event and 1,024 a request, names of datasets and 512 bytes a dataset.
   *
   * @defaultValue 512 MiB
   */
  maxStoredBytes?: number | undefined
}

/** The options with their defaults. */
export interface Settings extends BodyLimits, EventBounds {
  host: string
  allowedHosts: readonly string[]
  port: number
  basePath: string
  tls: EmulatorOptions['tls']
  /** The default organization comes first. */
  orgs: readonly OrgOverrides[]
  enforced: ReadonlySet<Limit>
  tokens: readonly TokenGrant[]
  orgIdHeader: string
  maxStoredBytes: number
}

const MiB = 1024 * 1024

/** Fills in the defaults and refuses what makes no sense. */
export function settingsOf(options: EmulatorOptions): Settings {
  const given = checkObject('startEmulator: options', options)
  const { host, allowedHosts, port, basePath, tls, org, orgs, enforce, tokens, orgIdHeader, ...rest } = given
  const { maxRequestBytes, maxDecodedBytes, maxRequestEvents, maxNestingDepth, maxStoredBytes, ...unknown } =
    ownProperties(rest)
  for (const name of Object.keys(unknown)) throw new TypeError(`startEmulator: there is no option ${inspect(name)}`)
  return {
    host: checkText('host', host ?? '127.0.0.1'),
    allowedHosts: checkHosts('allowedHosts', allowedHosts ?? []),
    port: checkInteger('port', port ?? 0, 0, 65_535),
    basePath: checkBasePath(basePath ?? ''),
    tls: checkTls(tls),
    orgs: checkOrgs([org ?? {}, ...checkList('orgs', orgs ?? [])]),
    enforced: enforcedLimits('enforce', enforce ?? false),
    tokens: checkTokens(tokens ?? []),
    orgIdHeader: checkHeaderName(orgIdHeader ?? 'x-service-org-id'),
    maxRequestBytes: checkInteger('maxRequestBytes', maxRequestBytes ?? 16 * MiB, 1, Number.MAX_SAFE_INTEGER),
    maxDecodedBytes: checkInteger('maxDecodedBytes', maxDecodedBytes ?? 64 * MiB, 1, Number.MAX_SAFE_INTEGER),
    maxRequestEvents: checkInteger('maxRequestEvents', maxRequestEvents ?? 200_000, 1, Number.MAX_SAFE_INTEGER),
    maxNestingDepth: checkInteger('maxNestingDepth', maxNestingDepth ?? 256, 1, Number.MAX_SAFE_INTEGER),
    maxStoredBytes: checkInteger('maxStoredBytes', maxStoredBytes ?? 512 * MiB, 1, Number.MAX_SAFE_INTEGER),
  }
}

function checkBasePath(path: string): string {
  if (typeof path === 'string' && /^(?:\/[A-Za-z0-9._~-]+)*\/?$/.test(path)) return path.replace(/\/$/, '')
  throw mistake('basePath', "a path such as '/edge'", path)
}

function checkHeaderName(name: string): string {
  try {
    validateHeaderName(name)
  } catch {
    throw mistake('orgIdHeader', 'the name of a header', name)
  }
  return name.toLowerCase()
}

function checkOrgs(orgs: readonly OrgOverrides[]): readonly OrgOverrides[] {
  return orgs.map((overrides, index) => {
    const name = index === 0 ? 'org' : `orgs[${index - 1}]`
    const org = checkOverrides(name, overrides)
    if (index > 0) checkText(`${name}.id`, org.id)
    return org
  })
}

// What the next two get is secret, so their errors do not show it.

function checkTls(tls: EmulatorOptions['tls']): EmulatorOptions['tls'] {
  if (tls === undefined) return tls
  const own = typeof tls === 'object' && tls !== null ? ownProperties(tls) : undefined
  if (own?.key && own.cert) return own
  throw new TypeError('tls must be an object with key and cert')
}

function checkTokens(tokens: readonly TokenGrant[]): readonly TokenGrant[] {
  if (!Array.isArray(tokens)) throw new TypeError('tokens must be a list')
  return tokens.map((grant, index) => checkGrant(`tokens[${index}]`, grant))
}
