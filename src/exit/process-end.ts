import { warnAtOnce } from '../notices.ts'
import { LastDelivery, type Leftovers } from './last-delivery.ts'

/** Somebody who has something left to do when the process ends. */
export interface Unfinished extends Leftovers {
  /** Resolves when it is done, or has given up. Must keep the event loop alive until then. */
  finish(): Promise<void>
}

const unfinished = new Set<Unfinished>()
/** There while the handlers of 'exit' run: what is watched then has no later. */
let last: LastDelivery | undefined

/**
 * To be called by whoever may have something to deliver one day: the first log call of all may be made inside somebody's
 * handler of 'exit', where it is too late to listen.
 *
 * Listens before all others, of which one may throw, or call `process.exit()` once more: then none after it is called.
 */
export function expectEnd(): void {
  process.off('exit', deliverAll).off('exit', endDelivery)
  process.prependListener('exit', deliverAll).on('exit', endDelivery)
}

/**
 * Has the one finished when the process comes to its natural end, and its leftovers delivered when it ends by
 * `process.exit()` or an uncaught error. One listener for each serves every shipper of the process.
 */
export function watch(one: Unfinished): void {
  if (unfinished.size === 0 && last === undefined) {
    process.on('beforeExit', finishAll)
    expectEnd() // once more, to come before and after handlers that are there by now
  }
  unfinished.add(one)
  last?.deliver(unfinished)
}

export function unwatch(one: Unfinished): void {
  if (unfinished.delete(one) && unfinished.size === 0) process.off('beforeExit', finishAll)
}

/** Work started here is waited for: Node asks again when the loop is empty once more. */
function finishAll(): void {
  for (const one of unfinished) void one.finish()
}

function deliverAll(): void {
  last = new LastDelivery()
  warnAtOnce(true)
  last.deliver(unfinished)
  last.dismiss()
}

function endDelivery(): void {
  const delivery = last
  delivery?.deliver(unfinished)
  delivery?.dismiss()
  // Comes only where somebody emitted 'exit' in a process that goes on.
  setImmediate(() => {
    delivery?.dismiss()
    warnAtOnce(false)
    last = undefined
  }).unref()
}
