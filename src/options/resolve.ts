import { resolve as resolvePath } from 'node:path'
import { invalidOption } from '../errors.ts'
import { checkNode } from '../node-version.ts'
import { withoutTrailing } from '../text/without-trailing.ts'
import { resolveBaseUrl } from './base-url.ts'
import { checked } from './checked.ts'
import { described } from './described.ts'
import { type Environment, namingVariables, withEnvironment } from './environment.ts'
import { resolveFields } from './fields-options.ts'
import { optionsOf } from './options-of.ts'
import { resolveProxy } from './proxy-env.ts'
import { resolveCredentials } from './resolve-credentials.ts'
import { resolveLimits } from './resolve-limits.ts'
import { resolveCollapse, resolveHold } from './resolve-noise.ts'
import { resolveRedact } from './resolve-redact.ts'
import { resolveTls } from './resolve-tls.ts'
import type { ResolvedOptions, ResolvedRates } from './resolved-options.ts'
import { resolveShaping } from './shaping-options.ts'
import {
  expectedDataset,
  maxUnlimitedBatchBytes,
  type ShipperOptions,
  type ShipperValues,
  shipperOptions,
} from './shipper-options.ts'
import { type ResolvedSpool, type SpoolOptions, spoolOptions } from './spool-options.ts'
import { withDefaults } from './with-defaults.ts'

/**
 * Checks options, and fills in missing ones from the environment and the defaults.
 *
 * @throws TypeError | RangeError with `code` `LOGFERRY_INVALID_OPTION`, naming the option, the expectation and the
 * value
 * @throws Error if Node is too old
 */
export function resolveOptions(given: ShipperOptions | undefined, environment: Environment): ResolvedOptions {
  checkNode()
  const own = optionsOf(given)
  return namingVariables(shipperOptions, own, environment, () => resolve(own, environment))
}

function resolve(given: ShipperOptions, environment: Environment): ResolvedOptions {
  const set = checked(shipperOptions, withEnvironment(shipperOptions, given, environment))
  const options: ShipperValues = withDefaults(shipperOptions, set)
  checkRequired(options)
  checkCombinations(options)
  const {
    baseUrl,
    token,
    personalAccessToken,
    orgId,
    orgIdHeader,
    allowInsecure,
    tls,
    proxyEnv,
    dataset,
    limits,
    rateDirectory,
    spool,
    collapse,
    hold,
    minSeverity,
    context,
    transform,
    sample,
    redact,
    redactText,
    fields,
    ...unchanged
  } = options
  if (dataset === undefined) {
    throw invalidOption('dataset', `${expectedDataset}, or LOGFERRY_DATASET must be set`, 'nothing')
  }
  const credentials = resolveCredentials({ token, personalAccessToken, orgId, orgIdHeader })
  const url = resolveBaseUrl(baseUrl, options.region, allowInsecure)
  return {
    ...unchanged,
    baseUrl: url,
    dataset,
    credentials,
    limits: limits && resolveLimits(limits, orgId, credentials),
    rates: resolveRates(rateDirectory, url, limits?.orgId ?? orgId, limits?.share),
    spool: spool && resolveSpool(spool, destinationOf(url, orgId)),
    collapse: collapse && resolveCollapse(collapse),
    hold: hold && resolveHold(hold, options.maxBufferedBytes),
    shaping: resolveShaping({ minSeverity, context, transform, sample }),
    redact: resolveRedact(redact, redactText),
    fields: fields && resolveFields(fields, limits?.overflowField),
    tls: tls && resolveTls(tls),
    proxy: resolveProxy(proxyEnv, environment, url),
    maxUnlimitedBatchBytes: set.maxBatchBytes ?? maxUnlimitedBatchBytes,
  }
}

/** Names every required option that is missing, if more than one is: an error for each would cost a start for each. */
function checkRequired({ dataset, token, personalAccessToken, baseUrl }: ShipperValues): void {
  const required = [
    { option: 'dataset', variable: 'LOGFERRY_DATASET', isMissing: dataset === undefined },
    { option: 'token', variable: 'LOGFERRY_TOKEN', isMissing: (token ?? personalAccessToken) === undefined },
    { option: 'baseUrl', variable: 'LOGFERRY_URL', isMissing: baseUrl === undefined },
  ]
  const [first, ...others] = required.filter(({ isMissing }) => isMissing)
  if (first === undefined || others.length === 0) return
  const names = others.map(({ option }) => `\`${option}\``).join(' and ')
  const variables = others.map(({ variable }) => variable).join(' and ')
  throw invalidOption(
    first.option,
    `given (or ${first.variable} set), and so must ${names} (or ${variables} set)`,
    'nothing',
  )
}

/** Checks options that must fit one another. */
function checkCombinations(options: ShipperValues): void {
  const { durability, spool, maxBatchBytes, maxEventBytes, maxBufferedBytes, countUsage, reportUsageEveryMs } = options
  const { timeField } = options
  if (reportUsageEveryMs !== undefined && !countUsage) {
    throw invalidOption('countUsage', 'true with the option reportUsageEveryMs', 'false', 'range')
  }
  const groups = { limits: options.limits, fields: options.fields }
  for (const [group, given] of Object.entries(groups)) {
    if (given === undefined || (given.overflowField ?? options.limits?.overflowField ?? 'overflow') !== timeField)
      continue
    throw invalidOption(`${group}.overflowField`, 'another name than timeField', 'the same', 'range')
  }
  const folded = options.fields?.asText?.some(path => `${timeField}.`.startsWith(`${path.replace(/\.\*$/, '')}.`))
  if (folded)
    throw invalidOption('timeField', 'a name outside of the groups of fields.asText', 'one in a group', 'range')
  const { limits, fields } = groups
  if (limits?.overflowField !== undefined && (fields?.overflowField ?? limits.overflowField) !== limits.overflowField) {
    throw invalidOption('limits.overflowField', 'the same name as fields.overflowField', 'another one', 'range')
  }
  if (durability === 'disk' && spool === undefined) {
    throw invalidOption('durability', "'memory' without the option spool", "'disk'", 'range')
  }
  if (maxEventBytes > maxBatchBytes) {
    throw invalidOption('maxEventBytes', `at most maxBatchBytes (${maxBatchBytes})`, `${maxEventBytes}`, 'range')
  }
  if (maxBufferedBytes < 8 * maxBatchBytes) {
    const expected = `at least 8 × maxBatchBytes (${8 * maxBatchBytes})`
    throw invalidOption('maxBufferedBytes', expected, `${maxBufferedBytes}`, 'range')
  }
}

function resolveSpool(given: SpoolOptions, destination: string): ResolvedSpool {
  const { directory, maxBytes } = withDefaults(spoolOptions, given)
  return { directory: absolutePath('spool.directory', directory), maxBytes, destination }
}

/** A process whose share the application has set needs no agreement. */
function resolveRates(
  directory: string | false | undefined,
  url: URL,
  orgId: string | undefined,
  share = 1,
): ResolvedRates | undefined {
  if (directory === false || share < 1) return undefined
  return {
    directory: directory && absolutePath('rateDirectory', directory),
    destination: destinationOf(url, orgId),
    isOfOrganization: orgId !== undefined,
  }
}

/** @throws TypeError if the path depends on a current directory that no longer exists */
function absolutePath(option: string, path: string): string {
  try {
    return resolvePath(path)
  } catch {
    const expected = 'an absolute path, because the current directory of the process has been removed'
    throw invalidOption(option, expected, described(path))
  }
}

/** Returns the destination of events. The token is not a part of it, because it may change between two runs. */
function destinationOf({ origin, pathname }: URL, orgId: string | undefined): string {
  return `${origin}${withoutTrailing(pathname, '/')}/${orgId === undefined ? '' : `#${orgId}`}`
}
