import type { Shipper } from '../index.ts'
import { counted } from '../text/counted.ts'
import { clearInterval, maxTimeoutMs, setInterval } from '../time.ts'
import { deadline } from '../time-limits.ts'
import type { Ending } from './ending.ts'
import { printError } from './print.ts'
import { standstill } from './standstill.ts'
import { stopBySignal } from './stop-signals.ts'
import { inCommandWords } from './warning-words.ts'

/** Maximum time without progress before a command gives up, in seconds, if --timeout is not given. */
const standstillSeconds = 60

export const timeoutOption = {
  value: 'seconds',
  description: `maximum time (default: until nothing was delivered for ${standstillSeconds} s)`,
} as const

const progressEveryMs = 5000

/**
 * Delivers events, prints progress and warnings to standard error, and closes the shipper.
 *
 * @param work ships the events, and resolves when they are delivered. After its signal is aborted, it must ship nothing more,
 * because the shipper is being closed. Without `work`, the shipper delivers the events in its spool.
 */
export async function deliver(
  shipper: Shipper,
  total: number,
  timeoutMs: number | undefined,
  work?: (shipper: Shipper, signal: AbortSignal) => Promise<unknown>,
): Promise<Ending> {
  const { promise: brokenOff, resolve: breakOff } = Promise.withResolvers<Ending>()
  const over = new AbortController()
  shipper.on('warning', ({ code, message }) => {
    const isLoss = code === 'LOGFERRY_DROPPED' && work === undefined
    if (!over.signal.aborted || isLoss) printError(inCommandWords(message, { timeout: timeoutOption }))
  })
  void stopBySignal().then(() => breakOff('the command was stopped'))
  const stopClock = deadline(timeoutMs ?? maxTimeoutMs, () => breakOff('the time was up'))
  const isStuck = standstill(shipper, timeoutMs === undefined ? standstillSeconds * 1000 : maxTimeoutMs)
  const progress = setInterval(() => {
    printError(`Delivered so far: ${counted(shipper.stats().delivered, 'event')}`)
    if (isStuck()) breakOff('the service did not accept them')
  }, progressEveryMs)
  printError(`Delivering ${counted(total, 'event')} …`)
  try {
    const delivered = work?.(shipper, over.signal) ?? shipper.flush({ timeoutMs: maxTimeoutMs })
    return await Promise.race([delivered.then(() => 'done' as const), brokenOff])
  } finally {
    over.abort() // the report says what stays
    stopClock()
    clearInterval(progress)
    await shipper.close({ timeoutMs: 0 })
  }
}
