/**
 * Returns a signal that aborts when the user stops the command, or when the reader of its output ends, as in
 * `logferry tail | head`.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  const stop = () => controller.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  process.stdout.on('error', stop)
  return controller.signal
}
