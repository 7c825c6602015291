/** The orders to a process of the chaos, and its report. */

export interface ChaosJob {
  readonly seed: number
  readonly url: string
  readonly directory: string
  /** Index of the process. */
  readonly index: number
  /** Time for which the process logs. With 0, it only delivers what other processes have left. */
  readonly forMs: number
  /** Maximum time for delivery at its end. What then remains is dropped and counted, or left in the spool. */
  readonly closeMs: number
}

/** The state of one shipper, according to its own process. Its counts may be some bursts old, unless the process has ended. */
export interface ChaosShipper {
  readonly number: number
  /** The place of its events: memory alone, a spool for events that memory cannot hold, or all events on disk. */
  readonly kind: 'memory' | 'spool' | 'disk'
  /** Number of log calls that have returned. */
  readonly logged: number
  readonly accepted: number
  readonly delivered: number
  readonly dropped: number
  /** Number of events that were dropped since these counts were taken. */
  readonly droppedSince: number
  readonly pending: number
  /** Number of pending events that `close()` has left in the spool. */
  readonly left: number
  readonly bufferedBytes: number
  readonly maxBufferedBytes: number
  /**
   * Numbers of the events that were reported as refused while the shipper was open, although the service had no reason
   * to refuse them: the first thousand.
   */
  readonly wronglyRejected: readonly number[]
}

/** Memory of a process at a moment. */
export interface ChaosMemory {
  readonly rssBytes: number
  readonly heapBytes: number
  readonly externalBytes: number
}

export interface ChaosReport {
  readonly shippers: readonly ChaosShipper[]
  /** Time within which 99.9 % of the log calls returned, in milliseconds: as seen, and without waits for a processor. */
  readonly callMs: { readonly seen: number; readonly own: number }
  /**
   * The longest time that the thread worked between two turns of the event loop, in milliseconds. Log calls do not
   * count, because the application decides how many it makes in a turn.
   */
  readonly stallMs: number
  /** Memory of the process before its first shipper. */
  readonly rssAtStartBytes: number
  readonly memory: ChaosMemory
  readonly isDone: boolean
}

export const shippersEach = 3
/** Each shipper has its own range of numbers. */
export const numbersEach = 10_000_000

/** The service refuses events with these numbers every time it gets them. */
export function isPoison(number: number): boolean {
  return number % 2000 === 1999
}
