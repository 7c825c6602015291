import { openSync, readSync } from 'node:fs'

const buffer = Buffer.alloc(64)
const file = process.platform === 'linux' ? openSync(`/proc/self/task/${process.pid}/schedstat`, 'r') : undefined

/**
 * Returns how long the main thread has waited for a processor so far, in nanoseconds: other threads and processes had it. Always 0
 * where the system does not count that.
 */
export function processorWaitNs(): bigint {
  if (file === undefined) return 0n
  const length = readSync(file, buffer, 0, buffer.length, 0)
  const [, waited = '0'] = buffer.toString('latin1', 0, length).split(' ')
  return BigInt(waited)
}
