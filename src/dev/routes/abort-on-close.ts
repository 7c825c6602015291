import type { ServerResponse } from 'node:http'

/** Returns a signal that is aborted when the reader goes away before the answer is complete. */
export function abortOnClose(response: ServerResponse): AbortSignal {
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  return closed.signal
}
