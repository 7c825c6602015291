import * as v from 'valibot'
import { type DefinitionsOf, integer, required } from './option.ts'

/** Options for a spool, where events wait on disk that cannot be delivered yet. */
export interface SpoolOptions {
  /**
   * Directory of the spool, absolute or relative to the working directory of the process. A missing directory is
   * created, with access for its owner only (0700).
   *
   * Any number of processes may share it, including containers with a common volume. Each process has a directory of
   * its own in it. Events that a process leaves behind are delivered by another process with the same `baseUrl` and
   * `orgId`.
   *
   * The directory and its parents must belong to root or to the user of the process, and no other user may write to
   * them. Otherwise the directory is not used: a warning says so, and events stay in memory. Sticky parents and volumes
   * of root are accepted. On Windows, nothing is checked.
   */
  directory: string
  /**
   * Maximum bytes of this process in the spool. Integer, at least 65 536.
   *
   * They include events that the process has adopted, and events that its own `close()` has handed off and no other
   * process has adopted. When the maximum is reached, the oldest events are dropped, counted and reported.
   *
   * @defaultValue 1073741824 (1 GiB)
   */
  maxBytes?: number | undefined
}

export const expectedDirectory = 'the path of a directory (not empty, no NUL character)'
export const directoryPattern = /^[^\0]+$/

/** The definition of each of `SpoolOptions`. */
export const spoolOptions = {
  directory: required({
    check: v.pipe(v.string(expectedDirectory), v.regex(directoryPattern, expectedDirectory)),
    values: 'path',
    summary: 'directory of the spool; several processes may share it',
  }),
  maxBytes: integer({
    min: 65_536,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    default: 1_073_741_824,
    summary: 'maximum bytes of this process in the spool',
  }),
} satisfies DefinitionsOf<SpoolOptions>

export interface ResolvedSpool {
  readonly directory: string
  readonly maxBytes: number
  /**
   * The destination of the events: the address of the service, then `#` and the id of the organization if there is one.
   */
  readonly destination: string
  /**
   * Size of `rejected.ndjson` from which on a new file takes its place, and that of an older one, in bytes.
   *
   * @defaultValue 8 MiB
   */
  readonly maxRejectedBytes?: number | undefined
}
