import { OrgClient } from '../../org/client.ts'
import { OrgError, type OrgErrorCode } from '../../org/org-error.ts'
import { resolveClientOptions } from '../../org/resolve-client-options.ts'
import { type Finding, fail, type HealthCheck, ok, skipped, warn } from './health-check.ts'
import type { Session } from './session.ts'

export const organization: HealthCheck = {
  name: 'organization',
  after: ['answer'],
  async run(session) {
    const { environment } = session.settings
    const id = environment.LOGFERRY_ORG_ID
    if (!id) return skipped('LOGFERRY_ORG_ID is not set')
    let client: OrgClient | undefined
    try {
      client = clientOf(session)
      const org = await client.get(id)
      session.organization = org
      return judge(org)
    } catch (error) {
      if (error instanceof OrgError) return refusal(error, session)
      const { message } = error as Error
      return fail(message.replace(/^logferry: /, ''), 'Correct LOGFERRY_ORG_ID or LOGFERRY_ACCESS_TOKEN.')
    } finally {
      await client?.close()
    }
  },
}

/** The organization is read with the access token if there is one, else with the token that sends the events. */
function clientOf({ settings }: Session): OrgClient {
  const { options, environment, accessToken, timeoutMs } = settings
  const { baseUrl, allowInsecure, personalAccessToken, tls } = options
  const bearer = accessToken === undefined ? { personalAccessToken } : { accessToken }
  const given = { baseUrl, allowInsecure, tls, timeoutMs, ...bearer }
  return new OrgClient(resolveClientOptions(given, environment))
}

function judge({ name, plan, paymentStatus, role }: Awaited<ReturnType<OrgClient['get']>>): Finding {
  const detail = `'${name}', plan ${plan}, payment ${paymentStatus}${role === undefined ? '' : `, role ${role}`}`
  const values = { plan, paymentStatus }
  if (paymentStatus === 'blocked') return fail(detail, 'Settle the payment: the service may refuse events.', values)
  if (paymentStatus === 'failed') return warn(detail, 'Settle the payment before the service refuses events.', values)
  return ok(detail, values)
}

const remedies: Partial<Record<OrgErrorCode, string>> = {
  UNAUTHORIZED:
    'Only the option limits needs the organization: set LOGFERRY_ACCESS_TOKEN (in the application: ' +
    'limits.accessToken), or allow the API token to read the organization. Check LOGFERRY_ORG_ID, too.',
  NOT_FOUND: 'Check LOGFERRY_ORG_ID. The organization may live in the other region.',
  RATE_LIMITED: 'Try again later.',
  TIMEOUT: 'Try again with a longer --timeout.',
  INVALID_RESPONSE: 'Check LOGFERRY_URL. If it is right, report the message to the operator of the service.',
}

/** The organization is only needed for its limits. So a refusal is no failure, but an unknown organization is one. */
function refusal({ code, message }: OrgError, { settings }: Session): Finding {
  const detail = message.replace(/^logferry: /, '')
  const remedy = remedies[code] ?? 'Try again later. Only the option limits needs the organization.'
  const isNeeded = code === 'NOT_FOUND' && settings.options.personalAccessToken !== undefined
  return isNeeded ? fail(detail, remedy, { code }) : warn(detail, remedy, { code })
}
