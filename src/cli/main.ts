#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeProblem } from '../node-version.ts'

// The version check runs before any other module loads, because an old Node may not even parse the other modules.
const problem = nodeProblem()
if (problem !== undefined) {
  console.error(problem)
  process.exitCode = 1
} else {
  const packageJson = join(import.meta.dirname, '../../package.json')
  const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string }
  const args = process.argv.slice(2)
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-v')) {
    console.log(version) // Loading the command line takes longer than all of this.
  } else {
    process.stdout.on('error', leaveClosedPipe)
    process.exitCode = 1 // until the command has a result
    // No `await` here: CommonJS has no top-level `await`.
    import('./run.ts')
      .then(({ run }) => run(args, version))
      .then(exitCode => {
        process.exitCode = exitCode
      })
  }
}

/** Ends the process if the reader of its output has ended, as `head` does. Commands may have listeners of their own. */
function leaveClosedPipe(error: NodeJS.ErrnoException): void {
  if (process.stdout.listenerCount('error') > 1) return
  if (error.code === 'EPIPE') process.exit(0)
  console.error(`logferry: standard output cannot be written (${error.code}). Check where it goes, and its disk.`)
  process.exit(1)
}
