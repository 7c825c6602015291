import { outputEnded } from '../output-ended.ts'
import { stopBySignal } from '../stop-signals.ts'

/**
 * Returns a signal that aborts when the user stops the command, or when the reader of its output ends, as in
 * `logferry tail | head`.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  const stop = () => controller.abort()
  void stopBySignal().then(stop)
  void outputEnded().then(stop)
  return controller.signal
}
