import { type Encoding, encodings } from '../../http/encodings.ts'
import { isThrottled } from '../../http/statuses.ts'
import { judgeLike, sendEmptyBatch } from './empty-batch.ts'
import { type HealthCheck, ok, skipped, warn } from './health-check.ts'
import type { Session } from './session.ts'
import { troubleWith } from './trouble.ts'

const compressed = encodings.filter(encoding => encoding !== 'none')

export const compression: HealthCheck = {
  name: 'compression',
  after: ['answer', 'token'],
  async run(session) {
    const accepted: string[] = []
    const refused: string[] = []
    try {
      for (const encoding of compressed) {
        const { answer } = await sendEmptyBatch(session, { encoding })
        const verdict = judgeLike(session.first.answer, answer)
        if (verdict === 'unclear' && !(await isRefusedAgain(session, encoding, answer.status)))
          return skipped(`the service answers ${answer.status} to ${encoding}: try again later`)
        if (verdict === 'taken') accepted.push(encoding)
        else refused.push(`${encoding} is refused (status ${answer.status})`)
      }
    } catch (error) {
      return troubleWith(error, session.resolved.baseUrl.host, session.settings.timeoutMs)
    }
    const detail = [...(accepted.length > 0 ? [`accepts ${accepted.join(' and ')}`] : []), ...refused].join('; ')
    const values = { accepted }
    const configured = session.resolved.compression
    if (configured === 'none' || accepted.includes(configured)) return ok(detail, values)
    const remedy = `Set the option compression to '${accepted[0] ?? 'none'}'. An application finds out by itself, but each start costs it a request.`
    return warn(detail, remedy, values)
  },
}

/**
 * Returns true if the service takes a batch without compression, and then answers with the same status again. Some gateways
 * answer 403 or 500 to a compression that they do not know.
 */
async function isRefusedAgain(session: Session, encoding: Encoding, status: number): Promise<boolean> {
  if (isThrottled(status)) return false
  if (judgeLike(session.first.answer, (await sendEmptyBatch(session)).answer) !== 'taken') return false
  return (await sendEmptyBatch(session, { encoding })).answer.status === status
}
