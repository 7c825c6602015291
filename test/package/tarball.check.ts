import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { checkedPages, linksOf } from '../docs/markdown.ts'
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
    const ours = [
      'ARCHITECTURE.md',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'benchmarks',
      'dist',
      'docs',
      'package.json',
    ]
    expect(readdirSync(installed).sort()).toEqual(ours)
    const files = readdirSync(join(installed, 'dist'), { recursive: true, withFileTypes: true })
    const names = files.filter(file => file.isFile()).map(file => file.name)
    const others = names.filter(name => !/^[a-z-]+(\.js|\.cjs|\.d\.ts|\.d\.cts)$/.test(name))
    const licenses = others.filter(name => /-LICENSES?\.(md|txt)$/.test(name)).sort()
    expect(licenses).toEqual(
      expect.arrayContaining(['commander-LICENSE.md', 'page-LICENSES.txt', 'valibot-LICENSE.md']),
    )
    expect(others.filter(name => !licenses.includes(name)).sort()).toEqual(['page.html', 'page.json'])
    const ofCommands = readdirSync(join(installed, 'dist/cli'))
    const code = names.length - ofCommands.length - others.length
    expect(code).toBeLessThan(50) // the code once, what options and commands need, and the declarations of the public API
  })

  it('has every page to which its pages link; only code is in the repository alone', () => {
    const missing = checkedPages().flatMap(page => {
      const files = linksOf(page)
        .filter(link => !/^[a-z]+:|^#/i.test(link))
        .map(link => join(dirname(page), decodeURI(link).replace(/#.*/, '')))
      return files.filter(file => !existsSync(join(installed, file)))
    })
    expect(missing.filter(file => !/^(examples|src|test|benchmarks)(\/|$)/.test(file) || file.endsWith('.md'))).toEqual(
      [],
    )
    expect(linksOf('README.md').filter(link => link.startsWith('examples'))).toEqual([])
  })

  it('has no getters among its exports, which would need a frame where the stack ends', () => {
    const files = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
    const code = files
      .filter(file => file.endsWith('.cjs') && !file.startsWith('cli')) // no log call runs what only a command loads
      .map(file => readFileSync(join(installed, 'dist', file), 'utf8'))
    expect(code.length).toBeGreaterThan(5)
    expect(code.filter(source => source.includes('Object.defineProperty(exports, "'))).toEqual([])
  })

  it('has every file that its package.json names', () => {
    const { bin, main, types, exports, typesVersions } = packageJson
    const paths = JSON.stringify([bin, main, types, exports, typesVersions]).match(
      /(\.\/)?(dist\/[^"]+|package\.json)/g,
    )
    expect(new Set(paths).size).toBe(1 + 5 * 4 + 1)
    expect(paths?.filter(path => !existsSync(join(installed, path)))).toEqual([])
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

  it('loads what an option alone needs with the first shipper that has the option', async () => {
    await bare.node('options.cjs')
  })

  it.each(['nodenext', 'bundler'] as const)('passes a strict type check (%s)', async moduleResolution => {
    await bare.typeCheck(moduleResolution, '--exactOptionalPropertyTypes', 'types.ts')
  })

  it('runs the command', async () => {
    expect(await bare.run('npx', '--no', '--', packageJson.name, '--help')).toContain(packageJson.name)
  })

  it('runs a program with the dev service, which brings everything that it needs', async () => {
    const program = ['node', '-e', 'fetch(process.env.LOGFERRY_URL + "/dev/events").then(r => console.log(r.status))']
    const options = ['--port', '0', '--token', 'token-of-test', '--', ...program]
    expect(await bare.run('npx', '--no', '--', packageJson.name, 'dev', ...options)).toBe('200\n')
  })
})
