/** Returns the processor time of this thread for a call, in milliseconds. Elapsed time would include other processes. */
export function cpuMs(run: () => void): number {
  const before = process.threadCpuUsage()
  run()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
