/**
 * Resolves when standard output cannot be written any more. The command must then end by itself: the listener stays, so
 * that a later failure does not end the process before the command has finished.
 */
export function outputEnded(): Promise<unknown> {
  return new Promise(resolve => {
    process.stdout.on('error', resolve)
  })
}
