import type { Workload } from '../workload/event.ts'
import type { Load } from '../workload/load.ts'

/** Where a set-up ships to, and what. */
export interface Target {
  /** `http://127.0.0.1:<port>`, with no path. */
  readonly url: string
  readonly port: number
  readonly load: Load
  readonly workload: Workload
  /** An empty folder on a disk, removed after the run. */
  readonly folder: string
}

/** A set-up that has been opened. */
export interface Source {
  /** Makes event `n` and logs it. */
  log(n: number): void
  /** Delivers what was logged, and goes on. Where a library has no such call, it is left out. */
  flush?(): Promise<unknown>
  /** Delivers what was logged, by the means that the library has for the end of a program. */
  end(): Promise<unknown>
}

/** Who is measured: ours, other libraries, the floor (nothing is shipped), and the limit (shipped with no more than it takes). */
export type Family = 'ours' | 'peer' | 'floor' | 'limit'

/** One way to log and ship. */
export interface SetUp {
  readonly name: string
  readonly family: Family
  /** What it is, in a few words. */
  readonly what: string
  /** How long after `end()` events may still arrive, in milliseconds; 0 where it waits for the last answer. */
  readonly lingersMs?: number
  /**
   * Loads what it takes, and only that: each set-up runs in a process of its own, which holds no library it does not use.
   * Throws `NotAvailable` where this version of a library does not have what it takes.
   */
  open(target: Target): Promise<Source>
}

export class NotAvailable extends Error {}
