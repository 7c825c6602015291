import { resolveOptions } from '../../options/resolve.ts'
import { fail, type HealthCheck, ok, warn } from './health-check.ts'

/** How to set the options that an error can be about. */
const remedies: Readonly<Record<string, string>> = {
  baseUrl: 'Set LOGFERRY_URL to the address of the service, or give --url.',
  token: 'Set LOGFERRY_TOKEN to an API token of the service. A token is never given on the command line.',
  dataset: 'Set LOGFERRY_DATASET, or give --dataset.',
  region: "Set LOGFERRY_REGION to 'us' or 'eu'.",
  orgId: 'Set LOGFERRY_ORG_ID to the id of the organization of the personal access token.',
}

export const options: HealthCheck = {
  name: 'options',
  after: [],
  async run(session) {
    const { settings } = session
    try {
      const spool = settings.spool === undefined ? {} : { spool: { directory: settings.spool } }
      session.resolved = resolveOptions({ ...settings.options, ...spool }, settings.environment)
    } catch (error) {
      const { option = '', message } = error as Error & { readonly option?: string }
      const remedy = Object.hasOwn(remedies, option) ? remedies[option] : undefined
      return fail(message.replace(/^logferry: /, ''), remedy ?? 'Correct the option.', { option })
    }
    const { baseUrl, dataset, region } = session.resolved
    const kind = settings.options.personalAccessToken === undefined ? 'an API token' : 'a personal access token'
    const where = `${baseUrl}${region === undefined ? '' : ` (region ${region})`}`
    const detail = `${where}, dataset '${dataset}', ${kind}`
    const values = { address: String(baseUrl), dataset: String(dataset) }
    if (settings.options.allowInsecure === true && baseUrl.protocol === 'http:') {
      return warn(`${detail}, without TLS`, 'Use an https:// address: the token can be read on the way.', values)
    }
    return ok(detail, values)
  },
}
