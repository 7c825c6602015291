import { firstValue } from '../../http/header.ts'
import { httpDateMs } from '../../http/http-date.ts'
import { fail, type HealthCheck, ok, skipped, warn } from './health-check.ts'

/** The header has whole seconds, and the answer takes its time: smaller differences mean nothing. */
const noticeMs = 10_000
const intolerableMs = 300_000

const remedy =
  'Let this machine keep its clock by NTP (timedatectl set-ntp true): events carry its time, and certificates are checked with it.'

export const clock: HealthCheck = {
  name: 'clock',
  after: ['answer'],
  async run({ first: { answer, startedAtMs, tookMs } }) {
    const serverMs = httpDateMs(firstValue(answer.headers.date)?.slice(0, 64) ?? '')
    if (Number.isNaN(serverMs)) return skipped('the answer has no date')
    // The date is cut to seconds: on average, half a second is missing.
    const skewMs = Math.round(startedAtMs + tookMs / 2 - (serverMs + 500))
    const values = { skewMs }
    if (Math.abs(skewMs) < noticeMs) return ok(`within ${noticeMs / 1000} s of the clock of the service`, values)
    const detail = `the clock of this machine is ${inWords(Math.abs(skewMs))} ${skewMs > 0 ? 'ahead of' : 'behind'} that of the service`
    return Math.abs(skewMs) < intolerableMs ? warn(detail, remedy, values) : fail(detail, remedy, values)
  },
}

function inWords(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`
}
