/**
 * A process that runs commands of the built package one after the other, for `logferryInTurn`. Each message has the arguments
 * and the environment of a command, and is answered with its exit code and what it has printed.
 */
import { createRequire } from 'node:module'
import packageJson from '../../package.json' with { type: 'json' }

export interface CommandLine {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const { run_exports: commandLine } = createRequire(import.meta.url)('../../dist/shared/command-line.cjs') as {
  run_exports: { run(args: readonly string[], version: string): Promise<number> }
}
const printed = { stdout: '', stderr: '' }

for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (text: string | Uint8Array, ...rest: unknown[]) => {
    printed[name] += typeof text === 'string' ? text : Buffer.from(text).toString()
    const done = rest.find(one => typeof one === 'function')
    done?.()
    return true
  }
}

async function run({ args, environment }: CommandLine): Promise<Ended> {
  Object.assign(printed, { stdout: '', stderr: '' })
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, environment)
  const code = await commandLine.run(args, packageJson.version)
  // Commands listen until their process ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal)
  process.stdout.removeAllListeners('error')
  return { code, ...printed }
}

let last: Promise<unknown> = Promise.resolve()
// Otherwise a command that does not end would outlive the tests.
process.on('disconnect', () => process.exit())
process.on('message', (line: CommandLine) => {
  last = last.then(async () => process.send?.(await run(line)))
})
