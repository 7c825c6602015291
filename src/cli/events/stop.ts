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

/**
 * Resolves when standard output cannot be written any more. The command must then end by itself: the listener stays, so
 * that a later failure does not end the process before the command has finished.
 */
export function outputEnded(): Promise<unknown> {
  return new Promise(resolve => {
    process.stdout.on('error', resolve)
  })
}
