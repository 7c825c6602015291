/** Packs the content of `dist`, once for all checks. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import packageJson from '../../package.json' with { type: 'json' }

declare module 'vitest' {
  interface ProvidedContext {
    tarball: string
  }
}

export default function pack(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'logferry-tarball-'))
  const options = { cwd: join(import.meta.dirname, '../..'), stdio: 'pipe' } as const
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], options)
  project.provide('tarball', join(folder, `${packageJson.name}-${packageJson.version}.tgz`))
  return () => rmSync(folder, { recursive: true })
}
