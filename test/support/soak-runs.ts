/** Returns the number of runs of a property: the given one, or `LOGFERRY_SOAK_RUNS`. */
export function soakRuns(runs: number): number {
  return Math.max(runs, Number(process.env.LOGFERRY_SOAK_RUNS ?? 0))
}

/** True in `npm run soak`, which also tries the cases that take too long for `npm test`. */
export const isSoak = soakRuns(0) > 0
