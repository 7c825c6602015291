/**
 * Makes the site of the documentation, in `docs/site/dist`, of the pages under `docs/` and the comments of the types. Plain
 * JavaScript for any Node that runs npm: what it starts runs on the Node that package.json pins.
 *
 *     npm run docs                # makes the site
 *     npm run docs -- --preview   # makes the site, and serves it on this machine
 */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))

/** The site is made without asking or telling anyone. */
const environment = { ...process.env, ASTRO_TELEMETRY_DISABLED: '1' }

const unknown = process.argv.slice(2).find(argument => argument !== '--preview')
if (unknown !== undefined) {
  console.error(`docs: unknown argument '${unknown}'. The only one is --preview.`)
  process.exit(2)
}

// Whatever is installed for the package will do: no other version of it changes what the site shows. `npm ci --omit=dev`
// installs too little.
if (!existsSync(`${root}node_modules/node`)) npm('Installing what the package needs …', root, ['ci', ...all()])
if (!isInstalled(here)) npm('Installing what makes the site, into docs/site/node_modules …', here, ['ci', ...all()])

for (const made of ['build', 'dist', 'public', 'src/content'])
  rmSync(`${here}${made}`, { recursive: true, force: true })
const node = createRequire(`${root}package.json`).resolve('node/bin/node')
run(node, [`${here}node_modules/typedoc/bin/typedoc`], here)
run(node, [`${here}write-pages.ts`], here)
run(node, [`${here}node_modules/astro/bin/astro.mjs`, 'build'], here)
console.log(`\nThe site is in ${here}dist.`)
if (process.argv.includes('--preview')) run(node, [`${here}node_modules/astro/bin/astro.mjs`, 'preview'], here)

/** True if the packages of the lock file, as it is, are installed. */
function isInstalled(folder) {
  const installed = `${folder}node_modules/.package-lock.json`
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${folder}package-lock.json`).mtimeMs
}

function all() {
  // NODE_ENV=production would leave out what builds the package.
  return ['--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
}

function npm(note, folder, args) {
  console.error(note)
  const cli = process.env.npm_execpath ?? ''
  // pnpm and Yarn name themselves there. The lock file is npm's.
  if (cli.endsWith('npm-cli.js')) run(process.execPath, [cli, ...args], folder)
  else run('npm', args, folder)
}

function run(command, args, folder) {
  const { status } = spawnSync(command, args, { cwd: folder, env: environment, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
