/** How many runs a property gets: these, or as many as `LOGFERRY_SOAK_RUNS` asks for. */
export function soakRuns(runs: number): number {
  return Math.max(runs, Number(process.env.LOGFERRY_SOAK_RUNS ?? 0))
}
