import type { ServerResponse } from 'node:http'
import { delay } from '../time.ts'
// `delay` is a real timer even if a test fakes the global timers, because the sockets are real too.

/** Waits for `durationMs`, or until the connection closes. @returns true if the connection is still open */
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
