import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { cp, glob, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const parts = [
  'docs/site/favicon.svg',
  'package.json',
  'rolldown.config.js',
  'src',
  'tsconfig.build.json',
  'tsconfig.json',
]

it('is built the same in every folder, whatever the folder and those above it are called', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'logferry-build-'))
  try {
    const clone = join(folder, 'src/dev/100%25 of #1')
    for (const part of parts) await cp(join(root, part), join(clone, part), { recursive: true })
    await symlink(join(root, 'node_modules'), join(clone, 'node_modules'))
    const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: clone })
    await run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json')
    await run('node_modules/rolldown/bin/cli.mjs', '-c')
    expect(await digestsOf(join(clone, 'dist'))).toEqual(await digestsOf(join(root, 'dist')))
  } finally {
    await rm(folder, { recursive: true })
  }
})

/** A digest of each file. The comments that say where a bundled module is from differ, because `node_modules` is a link here. */
async function digestsOf(dist: string): Promise<Record<string, string>> {
  const digests: Record<string, string> = {}
  for await (const name of glob('**/*.*', { cwd: dist })) {
    const text = await readFile(join(dist, name), 'utf8')
    digests[name] = hash('sha256', text.replaceAll(/^\/\/ .*node_modules\//gm, ''))
  }
  return digests
}
