import { bodyOf, isPage } from '../../http/answer-body.ts'
import type { Answer } from '../../http/exchange.ts'
import { firstValue } from '../../http/header.ts'
import { reasonIn } from '../../http/reason.ts'
import { retryAfterMs } from '../../http/retry-after.ts'
import { isInTrouble, isThrottled } from '../../http/statuses.ts'
import { systemTimeMs } from '../../time.ts'
import { isAccepted, mayRefuseBody, sendEmptyBatch } from './empty-batch.ts'
import { type Finding, fail, type HealthCheck, ok } from './health-check.ts'
import { remedyForPassword } from './proxy.ts'
import { proxyTo } from './proxy-address.ts'
import type { Session } from './session.ts'
import { troubleWith } from './trouble.ts'

/** Sends the first request: a batch without events. */
export const answer: HealthCheck = {
  name: 'answer',
  after: ['options', 'proxy', 'connection', 'tls'],
  async run(session) {
    const startedAtMs = systemTimeMs()
    try {
      const { answer, tookMs } = await sendEmptyBatch(session)
      session.first = { answer, startedAtMs, tookMs }
      return judge(answer, session)
    } catch (error) {
      return troubleWith(error, session.resolved.baseUrl.host, session.settings.timeoutMs)
    }
  },
}

function judge(answer: Answer, session: Session): Finding {
  const { status, headers } = answer
  const said = `status ${status}: ${reasonIn(answer, session.redact)}`
  const values = { status }
  if (isAccepted(answer)) {
    if (!isPage(bodyOf(answer))) return ok(`the service answers (status ${status})`, values)
    const remedy =
      'Check the host and path of LOGFERRY_URL. A proxy or a login page may answer in place of the service.'
    return fail('the answer is a web page, not one of the service', remedy, values)
  }
  if (status >= 300 && status < 400) {
    const remedy =
      'Set LOGFERRY_URL to the address that the service redirects to. Redirects are not followed, because the token would go there.'
    return fail(`the service ${reasonIn(answer, session.redact)} (status ${status})`, remedy, values)
  }
  if (status === 404 || status === 405) {
    const remedy =
      'Check the path of LOGFERRY_URL, the name of the dataset, and the region: paths of the service are appended to the address.'
    return fail(`there is no such dataset or path (${said})`, remedy, values)
  }
  if (isThrottled(status)) {
    const waitMs = retryAfterMs(firstValue(headers['retry-after']), systemTimeMs(), firstValue(headers.date))
    const when = waitMs === undefined ? '' : `, for ${Math.ceil(waitMs / 1000)} s more`
    const remedy =
      'Try again later. The option limits keeps an application to the rate of the license, and a fleet with limits.redis shares it.'
    return fail(`the rate limit of the organization is reached${when} (${said})`, remedy, values)
  }
  if (isInTrouble(status)) {
    const remedy =
      'Try again later, and ask the operator of the service or of the proxy before it. Applications keep their events meanwhile.'
    return fail(`the service has trouble (${said})`, remedy, values)
  }
  const isOfToken = status === 401 || status === 403
  if ((isOfToken || mayRefuseBody(status)) && isPage(bodyOf(answer))) {
    const next = isOfToken
      ? 'It may also have refused LOGFERRY_TOKEN.'
      : 'If it wants a client certificate, give it with --cert and --key, and in the application with the options tls.cert and tls.key.'
    const remedy =
      'A gateway, proxy or firewall may answer in place of the service: check the scheme, host and path of LOGFERRY_URL, and ask ' +
      `its operator. ${next}`
    return fail(`the answer is a web page, not one of the service (${said})`, remedy, values)
  }
  if (!isOfToken && !mayRefuseBody(status)) {
    const { username, password } = proxyTo(session.target, session.resolved.proxy) ?? {}
    const remedy =
      status === 407
        ? remedyForPassword(Boolean(username || password))
        : 'Check LOGFERRY_URL, and ask the operator of the service or of the proxy before it.'
    return fail(`no batch is taken at this address (${said})`, remedy, values)
  }
  return ok(`the service answers (${said})`, values) // the checks that follow judge the token and the body
}
