import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The folder of the benchmarks, whose `node_modules` holds the peers. */
export const benchmarksFolder = fileURLToPath(new URL('../../', import.meta.url))

/** Processes that are running now. */
const running = new Set<ChildProcess>()

/** Starts one of our modules in a process of its own, with which messages are exchanged. */
export function startChild(module: URL): ChildProcess {
  const child = fork(module, {
    cwd: benchmarksFolder,
    execArgv: [],
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  return registered(child)
}

/** Has a process end with the others when the measurement is interrupted. */
export function registered<Child extends ChildProcess>(child: Child): Child {
  running.add(child)
  return child.once('close', () => running.delete(child))
}

/** Kills the processes that are running, so that what waits for them goes on at once. */
export function killChildren(): void {
  // What is just being sent to one is an error of that one's.
  for (const child of running) child.on('error', () => {}).kill('SIGKILL')
}

/** What a caller has in the environment could change what is measured. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, NODE_ENV: 'production' }
}

/** The next message; rejects when the process ends without one. */
export async function nextMessage<Message>(child: ChildProcess, signal?: AbortSignal): Promise<Message> {
  const stopped = new AbortController()
  const either = signal === undefined ? stopped.signal : AbortSignal.any([stopped.signal, signal])
  try {
    return await Promise.race([
      once(child, 'message', { signal: either }).then(([message]) => message as Message),
      once(child, 'exit', { signal: either }).then(([code, name]) => {
        throw new Error(`the process ended by itself (${name ?? `exit code ${code}`})`)
      }),
    ])
  } finally {
    stopped.abort()
  }
}
