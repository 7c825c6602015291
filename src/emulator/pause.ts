import type { ServerResponse } from 'node:http'
import { delay } from '../time.ts'
// The promised timers stay real when a test fakes the global ones, as the sockets do.

/** Waits, but no longer than the connection lives; resolves to whether it still does. */
export async function pause(response: ServerResponse, durationMs: number): Promise<boolean> {
  if (response.destroyed || durationMs <= 0) return !response.destroyed
  const gone = new AbortController()
  const onClose = () => gone.abort()
  response.once('close', onClose)
  try {
    return await delay(durationMs, true, { signal: gone.signal })
  } catch {
    return false
  } finally {
    response.off('close', onClose)
  }
}
