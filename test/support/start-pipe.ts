import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { surroundings } from './surroundings.ts'
import { until } from './until.ts'

export const main = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url))

/** `logferry pipe` as it is built and installed, as long as it runs; `await using` kills it. */
export interface RunningPipe extends AsyncDisposable {
  readonly stdin: Writable
  readonly stdout: Readable
  /** What has come out so far. */
  output(): Buffer
  stderr(): string
  /** Waits until standard error matches. */
  until(pattern: RegExp): Promise<void>
  /** Closes the reading end of standard error. */
  closeStderr(): void
  kill(signal: NodeJS.Signals): void
  /** Waits for the end of the process, even if its output is not read. Returns the exit code. */
  exit(): Promise<number | null>
  /** Ends the input, waits for the end of the process, and returns its exit code; `null` after a signal. */
  end(lastInput?: string | Buffer): Promise<number | null>
}

/** The service that the pipe ships to. */
export interface PipeTarget {
  readonly url: string
  readonly token: string
}

/**
 * Starts the pipe with the dataset `d`.
 *
 * @param stdin a file descriptor in place of a pipe
 */
export function startPipe({ url, token }: PipeTarget, args: readonly string[] = [], stdin?: number): RunningPipe {
  const child = spawn(process.execPath, [main, 'pipe', '--dataset', 'd', ...args], {
    env: { ...surroundings(), LOGFERRY_URL: url, LOGFERRY_TOKEN: token },
    stdio: [stdin ?? 'pipe', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close')
  const exited = once(child, 'exit')
  const stdout = child.stdout as Readable
  const stderr = child.stderr as Readable
  const output: Buffer[] = []
  let said = ''
  stdout.on('data', chunk => output.push(chunk))
  stderr.setEncoding('utf8').on('data', text => {
    said += text
  })
  child.stdin?.on('error', () => {}) // the process may end before its input
  return {
    stdin: child.stdin as Writable,
    stdout,
    output: () => Buffer.concat(output),
    stderr: () => said,
    until: pattern => until(() => pattern.test(said), `standard error matches ${pattern}`, 30_000),
    closeStderr: () => void stderr.destroy(),
    kill: signal => void child.kill(signal),
    async exit() {
      const [code] = await exited
      return code
    },
    async end(lastInput) {
      child.stdin?.end(lastInput)
      const [code] = await closed
      return code
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      stdout.resume()
      await closed
    },
  }
}

/** Runs the pipe on an input, to its end. */
export async function pipe(target: PipeTarget, input: string | Buffer, args: readonly string[] = []) {
  await using running = startPipe(target, args)
  const code = await running.end(input)
  return { code, output: running.output(), stderr: running.stderr() }
}
