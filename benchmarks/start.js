/**
 * Gets everything in place that the benchmarks need, and starts them. Plain JavaScript for any Node that runs npm: what it
 * starts runs on the Node that package.json pins.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))

// NODE_ENV=production would leave out what builds the package.
const all = ['--include=dev', '--no-audit', '--no-fund', '--loglevel=error']

// `npm ci --omit=dev` installs no compiler.
const hasCompiler = existsSync(`${root}node_modules/typescript`)
if (!hasCompiler || !isInstalled(root)) npm('Installing what the package needs …', root, ['ci', ...all])
npm(undefined, root, ['run', '--silent', 'build']) // what is measured is the source as it stands
if (!isInstalled(here))
  npm('Installing the libraries to compare with, into benchmarks/node_modules …', here, ['ci', ...all])
npm(undefined, here, ['run', '--silent', 'build'])

// The Node of package.json: npm's own may be older.
const node = createRequire(import.meta.url).resolve('node/bin/node')
const bench = spawn(node, [`${here}build/bench.js`, ...process.argv.slice(2)], { stdio: 'inherit' })
process.on('SIGINT', () => {}) // Ctrl-C reaches the benchmark as well, which then reports what it has measured
process.on('SIGTERM', () => bench.kill('SIGTERM'))
bench.on('exit', code => {
  process.exitCode = code ?? 1
})

/** Whether the packages of the lock file, as it is, are there. */
function isInstalled(folder) {
  const installed = `${folder}node_modules/.package-lock.json`
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${folder}package-lock.json`).mtimeMs
}

function npm(note, folder, args) {
  if (note !== undefined) console.error(note)
  const cli = process.env.npm_execpath ?? ''
  // pnpm and Yarn name themselves there. The lock file is npm's.
  const [command, ...first] = cli.endsWith('npm-cli.js') ? [process.execPath, cli] : ['npm']
  const { status } = spawnSync(command, [...first, ...args], {
    cwd: folder,
    stdio: ['ignore', process.stderr.fd, 'inherit'],
  })
  if (status === 0) return
  console.error(`bench: npm ${args.join(' ')} failed in ${folder}`)
  process.exit(1)
}
