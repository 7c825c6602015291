import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { surroundings } from './surroundings.ts'

/** A separate process, as long as it runs. `await using` kills it. */
export interface RunningProcess extends AsyncDisposable {
  readonly pid: number
  stdout(): string
  stderr(): string
  /** Waits until the output matches. */
  until(pattern: RegExp): Promise<void>
  /** Writes to the standard input, if it is a pipe. */
  write(text: string): void
  signal(signal: NodeJS.Signals): void
  /** Waits for the end, after a signal if one is given. Returns the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts Node with these arguments. Its environment has only the path and the given variables. */
export function startNode(args: readonly string[], environment: Record<string, string> = {}): RunningProcess {
  return startProgram(process.execPath, args, environment)
}

/**
 * Does the same with any program.
 *
 * @param stdin the standard input: none, unless it is to be written to
 */
export function startProgram(
  program: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): RunningProcess {
  const env = { ...surroundings(), ...environment }
  const child = spawn(program, args, { env, stdio: [stdin, 'pipe', 'pipe'] }) as ChildProcessByStdio<
    Writable | null,
    Readable,
    Readable
  >
  const closed = once(child, 'close')
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      child.emit('printed')
    })
  }
  return {
    pid: child.pid as number,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    async until(pattern) {
      while (!pattern.test(printed.stdout + printed.stderr)) {
        const goesOn = await Promise.race([once(child, 'printed').then(() => true), closed.then(() => false)])
        if (!goesOn) throw new Error(`ended without printing ${pattern}: ${printed.stdout}${printed.stderr}`)
      }
    },
    write(text) {
      child.stdin?.write(text)
    },
    signal(signal) {
      child.kill(signal)
    },
    async end(signal) {
      if (signal !== undefined) child.kill(signal)
      const [code] = await closed
      return code
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await closed
    },
  }
}
