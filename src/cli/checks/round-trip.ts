import { sendEmptyBatch } from './empty-batch.ts'
import { type HealthCheck, ok, warn } from './health-check.ts'
import { troubleWith } from './trouble.ts'

const requests = 3
/** Above it, four connections with a batch each carry less than four batches a second. */
const slowMs = 1000

export const roundTrip: HealthCheck = {
  name: 'round-trip',
  after: ['answer'],
  async run(session) {
    const times: number[] = []
    try {
      for (let count = 0; count < requests; count++) times.push((await sendEmptyBatch(session)).tookMs)
    } catch (error) {
      return troubleWith(error, session.resolved.baseUrl.host, session.settings.timeoutMs)
    }
    const medianMs = times.toSorted((one, other) => one - other)[Math.floor(requests / 2)] as number
    const values = { medianMs: Math.round(medianMs), withConnectionMs: Math.round(session.first.tookMs) }
    const detail = `an answer takes ${inWords(medianMs)}; the first one took ${inWords(session.first.tookMs)}, with the connection`
    if (medianMs < slowMs) return ok(detail, values)
    const remedy =
      'Use the region nearest to this machine, and look at proxies on the way. Larger batches and a higher maxConcurrentRequests keep up the speed: logferry bench proposes values.'
    return warn(detail, remedy, values)
  },
}

function inWords(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms).toLocaleString('en')} ms`
}
