import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { Application } from './application.ts'

let bare: Application
let installed: string

beforeAll(async () => {
  bare = await Application.install('bare', ['@types/node@24.19.2'])
  installed = join(bare.folder, 'node_modules', packageJson.name)
})
afterAll(() => bare?.remove())

describe('the tarball', () => {
  it('holds what users need, and nothing else', () => {
    expect(readdirSync(installed).sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json'])
    const files = readdirSync(join(installed, 'dist'), { recursive: true, withFileTypes: true })
    const names = files.filter(file => file.isFile()).map(file => file.name)
    expect(names.filter(name => !/^[a-z-]+(\d?\.js|\.d\.ts)$/.test(name))).toEqual(['valibot-LICENSE.md'])
  })

  it('has every file that its package.json names', () => {
    const named = [
      Object.values(packageJson.bin),
      Object.values(packageJson.exports).map(entry => Object.values(entry)),
    ]
    const paths = [...named.flat(2), './package.json'].filter(path => typeof path === 'string' && path.includes('/'))
    expect(paths.length).toBeGreaterThan(10)
    expect(paths.filter(path => !existsSync(join(installed, path)))).toEqual([])
  })
})

describe('an application without winston and OpenTelemetry', () => {
  it('has neither installed with the package', () => {
    const packages = readdirSync(join(bare.folder, 'node_modules'))
    expect(packages).not.toContain('winston')
    expect(packages).not.toContain('@opentelemetry')
  })

  it('imports every entry point', async () => {
    await bare.node('import.mjs')
  })

  it('requires every entry point', async () => {
    await bare.node('require.cjs')
  })

  it.each(['nodenext', 'bundler'] as const)('passes a strict type check (%s)', async moduleResolution => {
    await bare.typeCheck(moduleResolution, '--exactOptionalPropertyTypes', 'types.ts')
  })

  it('runs the command', async () => {
    expect(await bare.run('npx', '--no', '--', packageJson.name, '--help')).toContain(packageJson.name)
  })
})
