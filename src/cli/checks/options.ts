import { resolveOptions } from '../../options/resolve.ts'
import { remedyFor } from '../option-remedies.ts'
import { fail, type HealthCheck, ok, warn } from './health-check.ts'

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
      return fail(message.replace(/^logferry: /, ''), remedyFor(option, message) ?? 'Correct the option.', { option })
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
