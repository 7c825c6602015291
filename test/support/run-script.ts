import { spawn } from 'node:child_process'
import { surroundings } from './surroundings.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
}

/** Runs ES module source in a process of its own, from the root of the project, and waits for its end. */
export function runScript(source: string, environment: Record<string, string> = {}): Promise<Ended> {
  return runNode(['--input-type=module', '--eval', source], environment)
}

/** Runs Node with these arguments. Its environment has only the path and the given variables. */
export function runNode(args: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  return runProgram(process.execPath, args, environment)
}

/** Does the same with any program. */
export async function runProgram(
  program: string,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> {
  const startedAtMs = performance.now()
  const child = spawn(program, args, {
    env: { ...surroundings(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stdout: string[] = []
  const stderr: string[] = []
  child.stdout.setEncoding('utf8').on('data', text => stdout.push(text))
  child.stderr.setEncoding('utf8').on('data', text => stderr.push(text))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) =>
      resolve({ code, signal, stdout: stdout.join(''), stderr: stderr.join(''), ms: performance.now() - startedAtMs }),
    )
  })
}
