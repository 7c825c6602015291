/** Somebody who has something left to do when the event loop runs empty. */
export interface Unfinished {
  /** Resolves when it is done, or has given up. Must keep the event loop alive until then. */
  finish(): Promise<void>
}

const unfinished = new Set<Unfinished>()

/**
 * Has `finish` called when the process comes to its natural end. One listener serves every shipper of the process, and it
 * is there only while there is something to finish.
 */
export function watch(one: Unfinished): void {
  if (unfinished.size === 0) process.on('beforeExit', finishAll)
  unfinished.add(one)
}

export function unwatch(one: Unfinished): void {
  if (unfinished.delete(one) && unfinished.size === 0) process.off('beforeExit', finishAll)
}

/** Work started here is waited for: Node asks again when the loop is empty once more. */
function finishAll(): void {
  for (const one of unfinished) void one.finish()
}
