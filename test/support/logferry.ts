import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { CommandLine, Ended } from './command-host.ts'
import { type RunningProcess, startNode } from './start-node.ts'
import { surroundings } from './surroundings.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url))
const commandHost = fileURLToPath(new URL('./command-host.ts', import.meta.url))

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

let host: ChildProcess | undefined
const waiting: PromiseWithResolvers<Ended>[] = []

/**
 * Runs the command to its end, as built, in a process that runs others before and after it. Starting a process takes ten times
 * as long as most commands. Not for commands that wait for signals or for input, or run programs.
 */
export function logferryInTurn(args: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  host ??= startHost()
  const ended = Promise.withResolvers<Ended>()
  waiting.push(ended)
  host.send({ args, environment: { ...surroundings(), ...environment } } satisfies CommandLine)
  return ended.promise
}

function startHost(): ChildProcess {
  const process = fork(commandHost, {
    env: surroundings(),
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  process.on('message', (ended: Ended) => waiting.shift()?.resolve(ended))
  process.on('exit', () => {
    host = undefined
    for (const ended of waiting.splice(0)) ended.reject(new Error('the process that runs the commands has ended'))
  })
  process.unref() // it ends with this process, when their channel closes
  process.channel?.unref()
  return process
}
