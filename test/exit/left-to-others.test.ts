import { mkdtempDisposable, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { core, run } from './running.ts'

describe.concurrent('a process that ends while it reads the license for others', () => {
  it.each([
    ['by itself', ''],
    ['by process.exit()', 'process.exit()'],
    ['by process.exit() after flush()', 'await shipper.flush(); process.exit()'],
    ['after close()', 'await shipper.close()'],
  ])('lets another process read it at once, if it ends %s', async (_, end) => {
    await using parent = await mkdtempDisposable(join(tmpdir(), 'logferry-license-'))
    const directory = join(parent.path, 'rates')
    const { code, stdout, numbers } = await run(`
      import { existsSync, readdirSync } from 'node:fs'
      ${core(`rateDirectory: '${directory}', limits: { orgId: 'o', accessToken: () => new Promise(() => {}) }`)}
      const files = () => existsSync('${directory}') ? readdirSync('${directory}') : []
      log(0)
      while (files().length === 0) await new Promise(resolve => setTimeout(resolve, 10))
      console.log(files().length)
      ${end}
    `)
    expect([code, stdout, numbers]).toEqual([0, '1\n', [0]])
    expect(await readdir(directory)).toEqual([])
  })
})

describe('a process that shares its rate with others', () => {
  it('takes its rate back when it ends', async () => {
    await using parent = await mkdtempDisposable(join(tmpdir(), 'logferry-rates-'))
    const directory = join(parent.path, 'rates')
    const environment: Record<string, string> = {}
    const { code, stdout } = await run(
      `
      import { existsSync, readdirSync, readFileSync } from 'node:fs'
      const { ORG: orgId, ACCESS: accessToken } = process.env
      ${core(`rateDirectory: '${directory}', limits: { orgId, accessToken }, maxBatchEvents: 1`)}
      const files = () => existsSync('${directory}') ? readdirSync('${directory}') : []
      const rates = () => files().filter(name => name.endsWith('.rates'))
        .map(name => readFileSync('${directory}/' + name, 'latin1').replace(/\\W+/g, '')).join('')
      process.on('exit', () => console.log(rates()))
      for (let n = 0; n < 200 && rates() === ''; n++) {
        log(n)
        await new Promise(resolve => setTimeout(resolve, 20))
      }
      console.log(rates() !== '')
      process.exit()
    `,
      {
        environment,
        emulatorOptions: { org: { license: { apiRateLimitPerSecond: 20 } } },
        prepare: ({ orgId, accessToken }) => Object.assign(environment, { ORG: orgId, ACCESS: accessToken }),
      },
    )
    expect([code, stdout]).toEqual([0, 'true\n\n'])
  })
})
