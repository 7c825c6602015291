/** What one run measured. Times "per event" are of processor time; the making of the event is in all of them. */
export interface Figures {
  readonly logged: number
  readonly delivered: number
  readonly lost: number
  readonly duplicated: number
  /** Processor time of the main thread per event, in microseconds, until the receiver has everything. */
  readonly mainCpuUs: number
  /** The same of all threads. */
  readonly processCpuUs: number
  /** Time spent in a log call, in nanoseconds, on the clock. */
  readonly callNs: number
  /** From the first log call until the receiver has everything. */
  readonly eventsPerSecond: number
  /** Part of one processor that the main thread took while logging and delivering, from 0 to 1. */
  readonly coreShare: number
  readonly peakRssMb: number
  readonly loopDelayP99Ms: number
  readonly loopDelayMaxMs: number
  /** Turns of the event loop in which something was done, in milliseconds; only in mode `watched`. */
  readonly longestTurnMs?: number
  readonly turnP99Ms?: number
  readonly wireMb: number
  readonly requests: number
}

export type FigureName = keyof Figures
