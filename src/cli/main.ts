#!/usr/bin/env node
import { readFileSync } from 'node:fs'

// Nothing else is loaded before the version is checked: on an old Node the rest might not even parse.
const packageUrl = new URL('../../package.json', import.meta.url)
const { version, engines } = JSON.parse(readFileSync(packageUrl, 'utf8')) as {
  version: string
  engines: { node: string }
}

if (isOlder(process.versions.node, engines.node.replace('>=', ''))) {
  console.error(`logferry needs Node ${engines.node}; this is Node ${process.versions.node} (${process.execPath}).`)
  process.exitCode = 1
} else {
  const { run } = await import('./run.ts')
  process.exitCode = await run(process.argv.slice(2), version)
}

function isOlder(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number)
  return major < leastMajor || (major === leastMajor && minor < leastMinor)
}
