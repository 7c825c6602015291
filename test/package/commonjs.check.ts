import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Application } from './application.ts'

const production = join(import.meta.dirname, '../../docs/production.md')

describe('an application in CommonJS', () => {
  let application: Application

  beforeAll(async () => {
    const logging = ['winston@3.19.0', '@opentelemetry/api@1.10.0', '@opentelemetry/sdk-logs@3.1.1']
    const tools = ['jest@30.5.2', 'webpack@5.112.2', 'esbuild@0.28.1']
    application = await Application.install('commonjs', [...logging, ...tools], 'commonjs')
  })
  afterAll(() => application?.remove())

  it('passes its tests with Jest', async () => {
    await application.node('node_modules/jest/bin/jest.js')
  })

  it('passes its tests with Jest that fakes timers before any module is loaded', async () => {
    const config = JSON.stringify({ fakeTimers: { enableGlobally: true } })
    await application.node('node_modules/jest/bin/jest.js', '--config', config, 'fake-timers')
  })

  it('has one copy of the package, though some of its modules import it and others require it', async () => {
    await application.node('one-state.mjs')
  })

  it.each([
    { module: 'application.cjs', shipped: 'from Winston, from the core' },
    { module: 'application.mjs', shipped: 'from the core' },
  ])('runs when webpack has bundled $module', async ({ module, shipped }) => {
    await application.node('bundle-with-webpack.cjs', module)
    expect(await application.node('bundled/with-webpack.cjs')).toBe(shipped)
  })

  it.each([
    { module: 'application.cjs', format: 'cjs', shipped: 'from Winston, from the core' },
    { module: 'application.mjs', format: 'esm', shipped: 'from the core' },
  ])('runs when esbuild has bundled $module ($format)', async ({ module, format, shipped }) => {
    const bundle = `bundled/with-esbuild-${module}`
    const options = ['--bundle', '--platform=node', `--format=${format}`, `--outfile=${bundle}`]
    await application.run('node_modules/.bin/esbuild', module, '--log-level=warning', ...options)
    expect(await application.node(bundle)).toBe(shipped)
  })

  it('runs when esbuild has bundled Winston, too, as an ES module that defines `require`', async () => {
    const bundle = 'bundled/winston.mjs'
    const [banner] = readFileSync(production, 'utf8').match(/(?<=--banner:js=").+(?=")/) ?? []
    const options = ['--bundle', '--platform=node', '--format=esm', `--outfile=${bundle}`, `--banner:js=${banner}`]
    await application.run('node_modules/.bin/esbuild', 'application.cjs', '--log-level=warning', ...options)
    expect(await application.node(bundle)).toBe('from Winston, from the core')
  })
})
