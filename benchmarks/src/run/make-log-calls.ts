import { setTimeout as pause, setImmediate as turnOfTheLoop } from 'node:timers/promises'
import type { Load } from '../workload/load.ts'

/** How often a paced run logs: groups of a few milliseconds, as requests to a server come. */
const groupEveryMs = 5

/**
 * Makes the log calls `first` … `first + count − 1` in the load's mode.
 *
 * @returns how long was spent in them, the making of the events included, in milliseconds
 */
export async function makeLogCalls(
  log: (n: number) => void,
  { mode }: Pick<Load, 'mode'>,
  first: number,
  count: number,
): Promise<number> {
  const end = first + count
  if (mode.kind === 'burst') return timed(log, first, end)
  if (mode.kind === 'chunks') {
    let spentMs = 0
    for (let n = first; n < end; n += mode.perTurn) {
      spentMs += timed(log, n, Math.min(n + mode.perTurn, end))
      await turnOfTheLoop()
    }
    return spentMs
  }
  let spentMs = 0
  const startedAtMs = performance.now()
  for (let n = first; n < end; ) {
    await pause(groupEveryMs)
    const due = first + Math.floor(((performance.now() - startedAtMs) / 1000) * mode.perSecond)
    const until = Math.min(due, end)
    spentMs += timed(log, n, until)
    n = Math.max(n, until)
  }
  return spentMs
}

function timed(log: (n: number) => void, first: number, end: number): number {
  const startedAtMs = performance.now()
  for (let n = first; n < end; n += 1) log(n)
  return performance.now() - startedAtMs
}
