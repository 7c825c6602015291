import type { Diagnostics } from '../accounting/diagnostics.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { rarePerSecond } from '../delivery/demand.ts'
import type { RateLimiter } from '../delivery/rate-limiter.ts'
import { addRelease, removeRelease } from '../exit/exit-hooks.ts'
import type { Fields } from '../fields/field-rules.ts'
import type { Credentials } from '../http/credentials.ts'
import type { ResolvedLimits } from '../options/resolve-limits.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { AccessToken } from '../org/access-token.ts'
import type { OrgClient, OrgClientUse } from '../org/client.ts'
import { Fleet } from '../org/fleet.ts'
import { LicenseFile } from '../org/license-file.ts'
import { Limits } from '../org/limits.ts'
import type { Org } from '../org/organization.ts'
import { isUsed, usedOrg } from '../org/used-org.ts'
import { noteOriginal } from '../record/copied-from.ts'
import { bytesAsSent, eventAsSent } from '../record/event-to-line.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import type { Redaction } from '../record/redaction.ts'
import type { Redact } from '../text/short-line.ts'
import { delay, monotonicMs } from '../time.ts'
import { addedFieldsOf } from './added-fields.ts'
import { machineDirectoryOf, machineKeyOf } from './rate-exchange-of.ts'

/** The organization's license as the shipper applies it: the limits, and the fleet that shares them. */
export interface License {
  readonly limits: Limits
  /** Removes from a text the tokens that are used to read the organization. */
  readonly redact: Redact
  /** Begins to read the license, unless it was begun before. Called at every event, because an event may follow `close`. */
  start(): void
  close(): Promise<void>
}

/** Maximum time for reading the organization, in milliseconds. It also limits the function that obtains a token. */
const readTimeoutMs = 10_000
/**
 * Maximum wait for a turn, in milliseconds. A later turn is not waited for, because the license may allow more than is
 * known.
 */
const maxTurnMs = 2000
/** Minimum age up to which the license of another process is used, in milliseconds: longer than a lease lasts. */
const minSharedAgeMs = 6000
/** Maximum age up to which the license of another process of this machine is used, in milliseconds. */
const maxMachineAgeMs = 10_000
/** Maximum time for which the first request waits for a license that another process of this machine reads, in milliseconds. */
const licenseMs = 2500

interface LicenseDeps {
  readonly options: ResolvedOptions
  readonly limits: ResolvedLimits
  readonly rateLimiter: RateLimiter
  readonly delivery: Delivery
  readonly diagnostics: Diagnostics
  readonly altered: Alterations
  readonly redaction: Redaction | undefined
  /** The application's rules for fields. */
  readonly fields: Fields | undefined
  readonly topStatements: (() => string | undefined) | undefined
  readonly onNewPeriod: (() => void) | undefined
  /** Called when the limit of the license becomes known. */
  readonly onLimit: () => void
}

export function openLicense(deps: LicenseDeps): License {
  const { options, limits: resolved, rateLimiter, delivery, diagnostics, altered, redaction } = deps
  const { share, refreshMs, onBudget, overflowField, redis, orgId } = resolved
  const { timeField, region } = options
  const addedFields = addedFieldsOf(options)
  let opening: Promise<OrgClient> | undefined
  let bearer: { redact(...given: Parameters<Redact>): string } | undefined =
    typeof resolved.bearer === 'function' ? undefined : resolved.bearer
  let reportUnusable: (problem: string) => void
  let isOpen = false
  /** Requests per second; `Infinity` if the license sets no limit, `undefined` until it has been read. */
  let limitPerSecond: number | undefined
  const fleet =
    redis &&
    new Fleet({
      redis,
      key: orgId,
      limitPerSecond: () => limitPerSecond,
      headerLimit: () => rateLimiter.headerLimit,
      namedHeaderLimit: nowMs => rateLimiter.namedHeaderLimit(nowMs),
      rarePerSecond,
      demand: nowMs => delivery.demand.measure(nowMs),
      isWaiting: () => delivery.isWaiting,
      requests: () => delivery.requests - delivery.throttledRequests,
      onLease: lease => {
        rateLimiter.setLease(lease)
        delivery.pump()
      },
      onTrouble: message => diagnostics.warn('LOGFERRY_LIMITS', message, 'fleet'),
      redact: diagnostics.redact,
    })
  /** Lets requests start that wait for the license of another process. */
  const endHold = (): void => {
    if (licenseFile !== undefined && fleet === undefined) rateLimiter.holdUntil(Number.NEGATIVE_INFINITY)
  }
  const { rates, credentials } = options
  const licenseFile =
    rates !== undefined
      ? new LicenseFile({
          directory: machineDirectoryOf(rates),
          key: () => machineKeyOf(rates, credentials),
          credentials: typeof resolved.bearer === 'function' ? undefined : resolved.bearer,
          onWaited: () => {
            endHold()
            delivery.pump()
          },
        })
      : undefined
  /**
   * Waits for a turn among the batches, because reads count as requests. The first read does not wait: its answer tells
   * the rate.
   */
  const turn = async (): Promise<void> => {
    const nowMs = monotonicMs()
    const waitMs = limitPerSecond === undefined ? 0 : rateLimiter.notBeforeMs(nowMs) - nowMs
    if (waitMs > 0 && waitMs <= maxTurnMs) await delay(waitMs, undefined, { ref: false })
    rateLimiter.onOtherRequest(monotonicMs())
  }
  const read = async (onUnusable: (problem: string) => void): Promise<Org> => {
    reportUnusable = onUnusable
    const tolerance = { isUsed, onUnusable: (problem: string) => reportUnusable(problem) }
    opening ??= openClient(options, resolved, { tolerance, turn, redact: diagnostics.redact }, credentials => {
      bearer = credentials
    })
    const client = await opening
    if (!isOpen) throw new Error('closed while the client was loaded')
    return client.get(orgId)
  }
  const limits = new Limits(
    { share, refreshMs, onBudget, overflowField, timeField, addedFields, region },
    {
      readOrg: onUnusable => {
        const readHere = () => read(onUnusable)
        // Also in a fleet: while Redis is away, each of its processes would read the license.
        const readOnMachine =
          licenseFile === undefined
            ? readHere
            : () => readShared(licenseFile, Math.min(refreshMs / 2, maxMachineAgeMs), readHere, diagnostics.redact)
        if (fleet === undefined) return readOnMachine()
        return readShared(fleet.license, Math.max(refreshMs / 2, minSharedAgeMs), readOnMachine, diagnostics.redact)
      },
      setRate: requestsPerSecond => {
        const isFirst = limitPerSecond === undefined
        limitPerSecond = requestsPerSecond ?? Number.POSITIVE_INFINITY
        endHold()
        rateLimiter.setLimit(requestsPerSecond)
        fleet?.apply()
        if (isFirst && fleet === undefined) deps.onLimit()
        delivery.pump()
      },
      onRaised: () => {
        rateLimiter.forgetRefusals()
        delivery.pump()
      },
      warn: (code, message, about) => diagnostics.warn(code, message, about),
      redact: diagnostics.redact,
      asSent: (event, nonFinite) =>
        redaction?.asSent(event, bytesAsSent(options.maxEventBytes), altered, nonFinite) ??
        eventAsSent(event, options.maxEventBytes, altered, nonFinite),
      onAsSent: event => redaction?.noteRedacted(event),
      onCopied: (copy, event) => {
        noteOriginal(copy, event)
        redaction?.noteCopied(copy, event)
      },
      fields: deps.fields,
      topStatements: deps.topStatements,
      onNewPeriod: deps.onNewPeriod,
    },
  )
  return {
    limits,
    redact: (text, kind) => bearer?.redact(text, kind) ?? text,
    start: () => {
      if (isOpen) return
      isOpen = true
      fleet?.start()
      if (licenseFile !== undefined) {
        if (limitPerSecond === undefined && fleet === undefined) rateLimiter.holdUntil(monotonicMs() + licenseMs)
        addRelease(licenseFile.release)
      }
      limits.start()
    },
    close: async () => {
      isOpen = false
      limits.stop()
      if (licenseFile !== undefined) {
        licenseFile.close()
        removeRelease(licenseFile.release)
      }
      const abandoned = opening?.then(client => client.abandon()).catch(() => {}) // without a client, nothing to close
      await Promise.all([fleet?.close(), abandoned])
    },
  }
}

/** The license that one of several processes reads for all. */
interface SharedLicense {
  get(read: () => Promise<string>, maxAgeMs: number): Promise<string>
}

/**
 * Returns the license that one process has read for all. Reads it again if the shared text is malformed, because others may
 * write to Redis.
 */
async function readShared(
  shared: SharedLicense,
  maxAgeMs: number,
  read: () => Promise<Org>,
  redact: Redact,
): Promise<Org> {
  const text = await shared.get(async () => JSON.stringify(usedOrg(await read(), redact)), maxAgeMs)
  const { readOrg } = await import('../org/organization-schema.ts')
  const found = readOrg(text, redact, { isUsed, onUnusable: () => {} })
  return 'org' in found ? found.org : read()
}

/**
 * Loads and creates the client when the license is read for the first time. Neither a log call nor the end of the
 * process waits for it.
 */
async function openClient(
  options: ResolvedOptions,
  { bearer }: ResolvedLimits,
  use: Pick<OrgClientUse, 'tolerance' | 'turn' | 'redact'>,
  onCredentials: (credentials: AccessToken | Credentials) => void,
): Promise<OrgClient> {
  const { AccessToken } = await import('../org/access-token.ts')
  const { OrgClient } = await import('../org/client.ts')
  const credentials = typeof bearer === 'function' ? new AccessToken(bearer, readTimeoutMs) : bearer
  onCredentials(credentials)
  const { baseUrl, dispatcher, tls, proxy } = options
  return new OrgClient(
    { baseUrl, credentials, dispatcher, tls, proxy, timeoutMs: readTimeoutMs },
    // `Limits` reads again later. Many processes that start at the same time may fill the limit with their reads.
    { keepsAlive: false, maxAttempts: 1, ...use },
  )
}
