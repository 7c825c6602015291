#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeProblem } from '../options/node-version.ts'

// The version check runs before any other module loads, because an old Node may not even parse the other modules.
const problem = nodeProblem()
if (problem !== undefined) {
  console.error(problem)
  process.exitCode = 1
} else {
  const packageJson = join(import.meta.dirname, '../../package.json')
  const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string }
  // No `await` here: CommonJS has no top-level `await`.
  import('./run.ts')
    .then(({ run }) => run(process.argv.slice(2), version))
    .then(exitCode => {
      process.exitCode = exitCode
    })
}
