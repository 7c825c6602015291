import { createShipper, type Shipper, type Warning } from '../../index.ts'
import { withEnvironment } from '../../options/environment.ts'
import { shipperOptions } from '../../options/shipper-options.ts'
import { type Finding, fail, type HealthCheck, ok } from './health-check.ts'
import type { Session } from './session.ts'

/** The message of the event that the check sends. */
const message = 'logferry check'

/** Sends one event as an application does: with a shipper of the same options. */
export const event: HealthCheck = {
  name: 'event',
  after: ['options', 'proxy', 'dns', 'connection', 'tls', 'answer', 'token'],
  async run(session) {
    const { options, environment, timeoutMs } = session.settings
    const shipper = createShipper({
      ...withEnvironment(shipperOptions, options, environment),
      maxRetryDelayMs: 100, // the user waits for the result
      requestTimeoutMs: Math.min(timeoutMs, 600_000),
      exitOnSignals: false, // the user does not want to wait any longer
    })
    const warnings = await shipOne(shipper, timeoutMs)
    const { delivered } = shipper.stats()
    const detail = `dataset '${session.resolved.dataset}' has one event with the message '${message}'`
    if (delivered === 1 && warnings.length === 0) return ok(detail)
    return refusal(shipper, warnings, session)
  },
}

function refusal(shipper: Shipper, warnings: readonly Warning[], { settings }: Session): Finding {
  const [warning] = warnings
  if (warning === undefined) {
    const detail = `not accepted within ${settings.timeoutMs / 1000} s; ${shipper.lastTrouble ?? 'no answer came'}`
    return fail(detail, 'Try again later, or with a longer --timeout. Applications keep their events meanwhile.')
  }
  const remedy = 'An application would get this warning: do as it says.'
  const isDelivered = shipper.stats().delivered === 1
  const detail = warning.message.replace(/^logferry: /, '')
  return { status: isDelivered ? 'warn' : 'fail', detail, remedy, values: { code: warning.code } }
}

/** Ships one event, and waits until it is settled, a warning arrives, or the time is up. */
async function shipOne(shipper: Shipper, timeoutMs: number): Promise<Warning[]> {
  const warnings: Warning[] = []
  const { promise: warned, resolve } = Promise.withResolvers<void>()
  shipper.on('warning', warning => {
    warnings.push(warning)
    resolve()
  })
  shipper.ship({ level: 'info', message })
  await Promise.race([shipper.flush({ timeoutMs: Math.min(timeoutMs, 600_000) }), warned])
  const soFar = [...warnings]
  await shipper.close({ timeoutMs: 0 }) // drops a pending event, and would add a warning about the drop
  return soFar
}
