import type { Diagnostics } from '../accounting/diagnostics.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { rarePerSecond } from '../delivery/demand.ts'
import type { RateLimiter } from '../delivery/rate-limiter.ts'
import { addRelease, removeRelease } from '../exit/exit-hooks.ts'
import type { Fields } from '../fields/field-rules.ts'
import type { ResolvedLimits } from '../options/resolve-limits.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
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
import { monotonicMs } from '../time.ts'
import { addedFieldsOf } from './added-fields.ts'
import { LicenseReader } from './license-reader.ts'
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

/** Minimum age up to which the license of another process is used, in milliseconds: longer than a lease lasts. */
const minSharedAgeMs = 6000
/** Maximum age up to which the license of another process of this machine is used, in milliseconds. */
const maxMachineAgeMs = 10_000
/** Maximum time for which the first request waits for a license that another process of this machine reads, in milliseconds. */
const maxLicenseWaitMs = 2500

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
        if (fleet?.isAway && !rateLimiter.hasStarted) beginAlone()
        delivery.pump()
      },
      onLicense: () => {
        if (limitPerSecond === undefined) limits.retry()
      },
      onTrouble: message => diagnostics.warn('LOGFERRY_LIMITS', message, 'fleet'),
      redact: diagnostics.redact,
    })
  /** Makes the first request wait for the license, and then for its place in line: no fleet gives it a slot. */
  const beginAlone = (): void => {
    if (limitPerSecond !== undefined) deps.onLimit()
    else if (licenseFile !== undefined) rateLimiter.holdUntil(monotonicMs() + maxLicenseWaitMs)
  }
  /** Lets requests start that wait for the license of another process. */
  const endHold = (): void => {
    if (licenseFile !== undefined) rateLimiter.holdUntil(Number.NEGATIVE_INFINITY)
  }
  /** Until it has read the license, a process that starts applies the one that the others apply, however old. */
  const readInFleet = async (license: Fleet['license'], read: () => Promise<Org>, onOld: () => void): Promise<Org> => {
    const maxAgeMs = Math.max(refreshMs / 2, minSharedAgeMs)
    const isFirst = limitPerSecond === undefined
    const org = await readShared(license, isFirst ? Number.POSITIVE_INFINITY : maxAgeMs, read, diagnostics.redact)
    if (isFirst && license.ageMs > maxAgeMs) onOld()
    return org
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
  const reader = new LicenseReader({
    options,
    limits: resolved,
    rateLimiter,
    isRateKnown: () => limitPerSecond !== undefined,
    redact: diagnostics.redact,
  })
  const limits = new Limits(
    { share, refreshMs, onBudget, overflowField, timeField, addedFields, region },
    {
      readOrg: (onUnusable, onOld) => {
        const read = () => reader.read(onUnusable)
        // Also in a fleet: while Redis is away, each of its processes would read the license.
        const readOnMachine =
          licenseFile === undefined
            ? read
            : () => readShared(licenseFile, Math.min(refreshMs / 2, maxMachineAgeMs), read, diagnostics.redact)
        return fleet === undefined ? readOnMachine() : readInFleet(fleet.license, readOnMachine, onOld)
      },
      setRate: requestsPerSecond => {
        const isFirst = limitPerSecond === undefined
        limitPerSecond = requestsPerSecond ?? Number.POSITIVE_INFINITY
        endHold()
        rateLimiter.setLimit(requestsPerSecond)
        fleet?.apply()
        if (isFirst && !rateLimiter.isLeased) deps.onLimit()
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
    redact: (text, kind) => reader.redact(text, kind),
    start: () => {
      if (isOpen) return
      isOpen = true
      reader.open()
      limits.start() // first, so that the first report of the fleet says that the license is wanted
      if (fleet !== undefined) fleet.start()
      else if (limitPerSecond === undefined) beginAlone()
      if (licenseFile !== undefined) addRelease(licenseFile.release)
    },
    close: async () => {
      isOpen = false
      limits.stop()
      if (licenseFile !== undefined) {
        licenseFile.close()
        removeRelease(licenseFile.release)
      }
      await Promise.all([fleet?.close(), reader.close()])
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
