/** Where events wait that delivery cannot take yet. */
export interface SpoolOptions {
  /**
   * Directory of the spool, absolute or relative to the working directory of the process. It is made, for its owner alone
   * (0700), where there is none. Any number of processes may share it, containers with one volume as well: each has a
   * directory of its own in it, and what a process leaves behind is delivered by one of the others, or by the next, of
   * those that ship to the same `baseUrl`, and with the same `orgId` where there is one.
   *
   * If another user than root owns it or one of its parents, or may write there, it is not used: a warning says so, and
   * events stay in memory. Parents that are sticky, and volumes of root, are accepted.
   */
  directory: string
  /**
   * Most bytes that this process may have there, with what it has taken over from others, and what its own `close()` has
   * left and no other process has taken over. Past it the oldest events are dropped, counted and reported. Integer, at
   * least 65 536.
   *
   * @defaultValue 1073741824 (1 GiB)
   */
  maxBytes?: number | undefined
}

export interface ResolvedSpool {
  readonly directory: string
  readonly maxBytes: number
  /** Where its events go: the address of the service, with `#` and the organization where one is named. */
  readonly destination: string
}
