import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { specifiedOrg, startService } from './service.ts'

async function run(baseUrl: string, code: string) {
  const script = `import { createOrgClient } from 'logferry/org'; const client = createOrgClient({ baseUrl: '${baseUrl}', token: 't' }); ${code}`
  return await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { timeout: 5000 })
}

it('a script lives until its call is answered, including pauses between attempts, and then ends without close()', async () => {
  await using service = await startService((response, _, nth) => {
    if (nth === 1) response.writeHead(503, { 'retry-after': '0.05' }).end()
    else setTimeout(() => response.end(JSON.stringify(specifiedOrg)), 50)
  })
  const startedAtMs = performance.now()
  const { stdout } = await run(service.url, `console.log((await client.get('acme')).name)`)
  expect(stdout).toBe('Acme\n')
  expect(performance.now() - startedAtMs).toBeLessThan(3000) // undici keeps an idle connection for 4 s
})

it('an unused client does not keep the process alive', async () => {
  expect((await run('http://127.0.0.1:1', '')).stderr).toBe('')
})
