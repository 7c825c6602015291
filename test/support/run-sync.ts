import { type SpawnSyncOptions, type SpawnSyncReturns, spawnSync } from 'node:child_process'

/**
 * Runs a program to its end while this process waits, for programs that take a moment. The timeout of a test cannot end such a
 * wait, so the program has a time of its own: it is killed after 15 s unless told otherwise, and its status is `null`.
 */
export function runSync(
  program: string,
  args: readonly string[],
  options: SpawnSyncOptions = {},
): SpawnSyncReturns<string> {
  return spawnSync(program, args, { timeout: 15_000, killSignal: 'SIGKILL', ...options, encoding: 'utf8' })
}

/** Does the same, and throws unless the program ends well. */
export function mustRunSync(...given: Parameters<typeof runSync>): void {
  const { error, status, signal, stderr } = runSync(...given)
  if (error !== undefined || status !== 0)
    throw new Error(`${given[0]} ${given[1].join(' ')} ended with ${status ?? signal}: ${stderr ?? ''}`, {
      cause: error,
    })
}

/** Whether the program is installed, and ends well with these arguments. */
export function canRun(program: string, args: readonly string[] = ['--version']): boolean {
  return runSync(program, args).status === 0
}
