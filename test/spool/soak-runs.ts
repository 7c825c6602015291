/** Returns the number of runs of a property: the given one, or `LOGFERRY_SOAK_RUNS`. */
export function soakRuns(runs: number): number {
  return Math.max(runs, Number(process.env.LOGFERRY_SOAK_RUNS ?? 0))
}
