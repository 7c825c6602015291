import type { Pace } from '../delivery/pace.ts'
import type { Credentials } from '../http/credentials.ts'
import type { Notices } from '../notices.ts'
import type { ResolvedLimits } from '../options/resolve-limits.ts'
import type { ResolvedOptions } from '../options/resolved-options.ts'
import type { AccessToken } from '../org/access-token.ts'
import type { OrgClient } from '../org/client.ts'
import { Fleet } from '../org/fleet.ts'
import { Limits } from '../org/limits.ts'
import type { Tolerance } from '../org/organization-schema.ts'
import { isUsed } from '../org/used-part.ts'
import { eventToJson } from '../record/event-to-line.ts'
import type { Alterations } from '../record/event-to-plain.ts'
import type { Redact } from '../text/short-line.ts'
import { monotonicMs } from '../time.ts'

/** What keeps to the organization's licence: the limits, and the fleet that shares them. */
export interface Licence {
  readonly limits: Limits
  /** Takes the tokens that the organization is read with out of a text. */
  readonly redact: Redact
  start(): void
  close(): Promise<void>
}

/** Longest time that reading the organization takes, in milliseconds. */
const readTimeoutMs = 10_000

export function openLicence(
  options: ResolvedOptions,
  limits: ResolvedLimits,
  pace: Pace,
  notices: Notices,
  altered: Alterations,
  onPaceChanged: () => void,
): Licence {
  const { share, refreshMs, onBudget, overflowField, redis, orgId } = limits
  const { timeField, region } = options
  let opening: Promise<OrgClient> | undefined
  let bearer: { redact(...given: Parameters<Redact>): string } | undefined =
    typeof limits.bearer === 'function' ? undefined : limits.bearer
  let tellUnusable: (problem: string) => void
  let isOpen = false
  let limitPerSecond: number | undefined
  const keeper = new Limits(
    { share, refreshMs, onBudget, overflowField, timeField, region },
    {
      readOrg: async onUnusable => {
        tellUnusable = onUnusable
        const tolerance = { isUsed, onUnusable: (problem: string) => tellUnusable(problem) }
        opening ??= openClient(options, limits, notices.redact, tolerance, credentials => {
          bearer = credentials
        })
        const client = await opening
        if (!isOpen) throw new Error('closed while the client was loaded')
        pace.onOtherRequest(monotonicMs())
        return client.get(orgId)
      },
      setRate: requestsPerSecond => {
        limitPerSecond = requestsPerSecond
        pace.setLimit(requestsPerSecond)
        onPaceChanged()
      },
      onRaised: () => {
        pace.forgetRefusals()
        onPaceChanged()
      },
      warn: (code, message, about) => notices.warn(code, message, about),
      redact: notices.redact,
      asSent: event => JSON.parse(eventToJson(event, options.maxEventBytes, altered)) as object,
    },
  )
  const fleet =
    redis &&
    new Fleet({
      redis,
      key: orgId,
      limitPerSecond: () => limitPerSecond,
      onLease: lease => {
        pace.setLease(lease)
        onPaceChanged()
      },
      onTrouble: message => notices.warn('LOGFERRY_LIMITS', message, 'fleet'),
      redact: notices.redact,
    })
  return {
    limits: keeper,
    redact: (text, kind) => bearer?.redact(text, kind) ?? text,
    start: () => {
      isOpen = true
      keeper.start()
      fleet?.start()
    },
    close: async () => {
      isOpen = false
      keeper.stop()
      const abandoned = opening?.then(client => client.abandon()).catch(() => {}) // what was not loaded need not be closed
      await Promise.all([fleet?.close(), abandoned])
    },
  }
}

/** The client loads here, when the licence is read for the first time: nothing waits for it, nor does the process. */
async function openClient(
  options: ResolvedOptions,
  { bearer }: ResolvedLimits,
  redact: Redact,
  tolerance: Tolerance,
  onCredentials: (credentials: AccessToken | Credentials) => void,
): Promise<OrgClient> {
  const { AccessToken } = await import('../org/access-token.ts')
  const { OrgClient } = await import('../org/client.ts')
  const credentials = typeof bearer === 'function' ? new AccessToken(bearer, readTimeoutMs) : bearer
  onCredentials(credentials)
  const { baseUrl, dispatcher, tls, proxy } = options
  return new OrgClient(
    { baseUrl, credentials, dispatcher, tls, proxy, timeoutMs: readTimeoutMs },
    { keepsAlive: false, tolerance, redact },
  )
}
