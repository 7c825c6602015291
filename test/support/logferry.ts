import { fileURLToPath } from 'node:url'
import { type RunningProcess, startNode } from './start-node.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url))

/** Starts the command as it is built and installed. */
export function startLogferry(
  args: readonly string[],
  environment?: Record<string, string>,
  nodeOptions: readonly string[] = [],
): RunningProcess {
  return startNode([...nodeOptions, main, ...args], environment)
}

/** Runs the command to its end. */
export async function logferry(...given: Parameters<typeof startLogferry>) {
  await using running = startLogferry(...given)
  const code = await running.end()
  return { code, stdout: running.stdout(), stderr: running.stderr() }
}
