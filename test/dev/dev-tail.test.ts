/** `logferry dev --tail`, as it is built. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logferry } from '../support/logferry.ts'
import { startDev } from './service.ts'

describe('logferry dev --tail', () => {
  let home: string
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'logferry-state-'))
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  it('prints each event, without its token and harmless for a terminal, and nothing else to standard output', async () => {
    await using dev = await startDev(['--tail'], { HOME: home, XDG_STATE_HOME: home })
    await dev.ingest([{ level: 'warn', message: `slow \u001b[2J ${dev.token}`, http: { status: 504 } }], 'shop')
    await dev.process.until(/http\.status=504/)
    expect(await dev.process.end('SIGINT')).toBe(0)
    const stdout = dev.process.stdout()
    expect(stdout).toMatch(/^\S+ ▲ WARN {2}shop {6}slow .*\(redacted\)\n +http\.status=504\n$/)
    expect(stdout).not.toContain('\u001b')
    expect(dev.process.stderr()).toContain('Events received: 1')
  })

  it('has its own address in the commands that it names, whatever LOGFERRY_URL another terminal has', async () => {
    await using dev = await startDev()
    for (const command of ['tail', 'mcp']) {
      expect(dev.process.stdout()).toContain(`logferry ${command} --url ${dev.url}\n`)
    }
  })

  it('prints the last events of a program before it ends with it', async () => {
    const script = `fetch(process.env.LOGFERRY_URL + '/v1/datasets/d/ingest', { method: 'POST', body: '[{"message":"last words"}]', headers: {
      authorization: 'Bearer ' + process.env.LOGFERRY_TOKEN, 'content-type': 'application/json' } })`
    const args = ['dev', '--tail', '--port', '0', '--', process.execPath, '-e', script]
    const { code, stdout } = await logferry(args, { HOME: home, XDG_STATE_HOME: home })
    expect(code).toBe(0)
    expect(stdout).toContain('last words')
  })
})
