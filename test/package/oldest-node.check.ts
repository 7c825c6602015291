import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { Application } from './application.ts'

const oldest = `${packageJson.engines.node.replace('>=', '')}.0`
const system = process.platform === 'win32' ? 'win' : process.platform
/** The package of the registry with the program of Node for this machine. */
const node = `node-${system}-${process.arch}`

describe('the oldest Node that applications may have', () => {
  let application: Application
  let program: string
  let command: string

  beforeAll(async () => {
    application = await Application.install('bare', [`${node}@${oldest}`], 'commonjs')
    program = join(application.folder, 'node_modules', node, system === 'win' ? 'bin/node.exe' : 'bin/node')
    command = join(application.folder, 'node_modules', packageJson.name, packageJson.bin.logferry)
  })
  afterAll(() => application?.remove())

  it('reads the syntax of every file', async () => {
    const compile = `
      const folder = 'node_modules/${packageJson.name}/dist'
      const files = fs.globSync('**/*.cjs', { cwd: folder })
      for (const file of files) new vm.Script('(function () {' + fs.readFileSync(path.join(folder, file), 'utf8').replace(/^#!/, '//') + '\\n})')
      console.log(process.versions.node, files.length > 30)`
    expect(await application.run(program, '-e', compile)).toBe(`${oldest} true\n`)
  })

  it('runs a program with the dev service, and prints what it has shipped', async () => {
    const ship = `require('logferry').createShipper().ship({ level: 'info', message: 'from an old Node' })`
    const shown = await application.run(program, command, 'dev', '--port', '0', '--tail', '--', program, '-e', ship)
    expect(shown).toContain('from an old Node')
  })
})
