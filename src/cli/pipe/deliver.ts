import type { Shipper } from '../../index.ts'
import { clearInterval, maxTimeoutMs, setInterval } from '../../time.ts'
import { deadline } from '../../time-limits.ts'
import type { Ending } from '../ending.ts'
import { standstill } from '../standstill.ts'

/** Maximum time without progress before delivery ends, in seconds, if no time is given. */
export const standstillSeconds = 60

const checkEveryMs = 500

/**
 * Delivers what is pending, until all of it is settled, the time is up or `stop` is aborted. Then closes the shipper,
 * which hands the rest off to the spool, or drops it.
 */
export async function deliver(shipper: Shipper, timeoutMs: number | undefined, stop: AbortSignal): Promise<Ending> {
  const { promise: brokenOff, resolve: breakOff } = Promise.withResolvers<Ending>()
  const onStop = (): void => breakOff('the command was stopped')
  stop.addEventListener('abort', onStop)
  if (stop.aborted) onStop()
  const stopClock = deadline(timeoutMs ?? maxTimeoutMs, () => breakOff('the time was up'))
  const isStuck = standstill(shipper, timeoutMs === undefined ? standstillSeconds * 1000 : maxTimeoutMs)
  const watch = setInterval(() => {
    if (isStuck()) breakOff('the service did not accept them')
  }, checkEveryMs)
  const flushed = shipper.flush({ timeoutMs: maxTimeoutMs }).then(() => 'done' as const)
  const ending = await Promise.race([flushed, brokenOff])
  stopClock()
  clearInterval(watch)
  stop.removeEventListener('abort', onStop)
  await shipper.close({ timeoutMs: 0 })
  return ending
}
