/** What a process of the chaos is told, and what it tells. */

export interface ChaosJob {
  readonly seed: number
  readonly url: string
  readonly directory: string
  /** Which process it is. */
  readonly index: number
  /** It logs for so long; with 0 it only delivers what others have left. */
  readonly forMs: number
}

/** What is known of one shipper, from its own process. */
export interface ChaosShipper {
  readonly number: number
  /** Where it keeps its events: in memory alone, in a spool for want of memory, or all of them on disk. */
  readonly kind: 'memory' | 'spool' | 'disk'
  /** Log calls that have returned. */
  readonly logged: number
  readonly accepted: number
  readonly delivered: number
  readonly dropped: number
  readonly pending: number
  /** Of those that are pending, what `close()` has left in the spool. */
  readonly left: number
  readonly bufferedBytes: number
  readonly maxBufferedBytes: number
  /** Events that were told as refused while it was not closed, and that no service had a reason to refuse. */
  readonly wronglyRejected: number
}

export interface ChaosReport {
  readonly shippers: readonly ChaosShipper[]
  /** 99.9 % of the log calls took no longer, in milliseconds. */
  readonly callMs: number
  /**
   * The longest time that the thread was at work between two turns of the event loop, besides the log calls, in milliseconds:
   * how many of them the application makes in a turn is its own affair.
   */
  readonly stallMs: number
  readonly rssBytes: number
  readonly isDone: boolean
}

export const shippersEach = 3
/** Each shipper has numbers of its own. */
export const numbersEach = 10_000_000

/** Events with these numbers are refused by the service, whenever it looks at them. */
export function isPoison(number: number): boolean {
  return number % 2000 === 1999
}
