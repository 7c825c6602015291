#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeProblem } from '../node-version.ts'
import { writeWhole } from './whole-output.ts'

// The version check runs before any other module loads, because an old Node may not even parse the other modules.
const problem = nodeProblem()
if (problem !== undefined) {
  console.error(problem)
  process.exitCode = 1
} else {
  const packageJson = join(import.meta.dirname, '../../package.json')
  const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string }
  const args = process.argv.slice(2)
  let isUnwritable = false
  writeWhole(process.stdout)
  process.stderr.on('error', () => {}) // A message that cannot be printed ends no command.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Some commands end by themselves: they have listeners of their own.
    const endsItself = process.stdout.listenerCount('error') > 1
    if (error.code !== 'EPIPE' && !isUnwritable) {
      isUnwritable = true
      console.error(`logferry: standard output cannot be written (${error.code}). Check where it goes, and its disk.`)
    }
    if (isUnwritable) process.exitCode = 1
    // A reader that has ended, as `head` does, is no trouble.
    if (!endsItself) process.exit(isUnwritable ? 1 : 0)
  })
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-v')) {
    console.log(version) // Loading the command line takes longer than all of this.
  } else {
    process.exitCode = 1 // until the command has a result
    // No `await` here: CommonJS has no top-level `await`.
    import('./run.ts')
      .then(({ run }) => run(args, version))
      .then(exitCode => {
        process.exitCode = isUnwritable ? 1 : exitCode
      })
  }
}
