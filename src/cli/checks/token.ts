import { reasonIn } from '../../http/reason.ts'
import { isAccepted, sendEmptyBatch } from './empty-batch.ts'
import { fail, type HealthCheck, ok } from './health-check.ts'
import type { Session } from './session.ts'

/** Checks by the first answer if the token may send events to the dataset. */
export const token: HealthCheck = {
  name: 'token',
  after: ['answer'],
  async run(session) {
    const { answer } = session.first
    const { dataset } = session.resolved
    const isPersonal = session.settings.options.personalAccessToken !== undefined
    const kind = isPersonal ? 'personal access token' : 'API token'
    const isRefused = answer.status === 401 || answer.status === 403
    const values = { kind, mayIngest: !isRefused }
    if (!isRefused) return ok(`the ${kind} may send events to '${dataset}'`, values)
    if (!isPersonal && (await worksAsPersonal(session))) {
      return fail(
        'it is a personal access token, given as an API token',
        'Give it as the option personalAccessToken, together with orgId (here: --personal). An API token, which has fewer rights, is better.',
        { ...values, kind: 'personal access token' },
      )
    }
    return fail(
      `the service refuses the ${kind} (status ${answer.status}: ${reasonIn(answer, session.redact)})`,
      isPersonal
        ? 'Check that the token is valid, that LOGFERRY_ORG_ID is its organization, and that it belongs to this region.'
        : `Check that LOGFERRY_TOKEN is valid and complete, may ingest into '${dataset}', and belongs to this region. ` +
            'If it is a personal access token, set LOGFERRY_ORG_ID and give --personal.',
      values,
    )
  },
}

/** True if the service accepts the token together with the id of the organization. */
async function worksAsPersonal(session: Session): Promise<boolean> {
  const { orgId, orgIdHeader = 'x-service-org-id' } = session.settings.options
  const id = orgId ?? session.settings.environment.LOGFERRY_ORG_ID
  if (!id || !/^[\x21-\x7e]+$/.test(id)) return false
  try {
    return isAccepted((await sendEmptyBatch(session, { headers: { [orgIdHeader]: id } })).answer)
  } catch {
    return false
  }
}
