#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { nodeProblem } from '../options/node-version.ts'

// Nothing else is loaded before the version is checked: on an old Node the rest might not even parse.
const problem = nodeProblem()
if (problem !== undefined) {
  console.error(problem)
  process.exitCode = 1
} else {
  const packageUrl = new URL('../../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(packageUrl, 'utf8')) as { version: string }
  const { run } = await import('./run.ts')
  process.exitCode = await run(process.argv.slice(2), version)
}
