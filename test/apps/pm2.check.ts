import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { beginRequest, environmentFor, folder } from './app.ts'

describe('the Express app under pm2, with a request under way when pm2 is stopped', () => {
  let emulator: Emulator
  let home: string
  let pm2: ChildProcessByStdio<null, Readable, null>
  let ended: { code: number | null; lastStatus: number | undefined }

  beforeAll(async () => {
    emulator = await startEmulator()
    home = await mkdtemp(join(tmpdir(), 'logferry-pm2-'))
    pm2 = spawn(process.execPath, [join(folder, 'node_modules/pm2/bin/pm2-runtime'), 'pm2/ecosystem.config.cjs'], {
      cwd: folder,
      env: {
        ...environmentFor(emulator),
        // pm2 asks the `node` of the path whether it runs TypeScript.
        PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
        HOME: home,
        PM2_HOME: home,
        PM2_DISABLE_VERSION_CHECK: 'true',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const url = await addressOfBoth()
    for (let id = 1; id <= 20; id++) await (await fetch(`${url}/orders/${id}`)).text()
    const last = await beginRequest(`${url}/orders/50`)
    pm2.kill('SIGTERM')
    const [code] = await once(pm2, 'exit')
    ended = { code, lastStatus: await last.answered }
  })
  afterAll(async () => {
    pm2?.kill('SIGKILL')
    await emulator?.close()
    if (home) await rm(home, { recursive: true })
  })

  /** Waits until both processes listen, and returns their address. */
  async function addressOfBoth(): Promise<string | undefined> {
    let printed = ''
    for await (const text of pm2.stdout.iterator({ destroyOnReturn: false })) {
      printed += text
      const addresses = [...printed.matchAll(/listening on (http:\S+)/g)]
      if (addresses.length === 2) break
    }
    pm2.stdout.resume()
    return /listening on (http:\S+)/.exec(printed)?.[1]
  }

  it('serves that request before pm2 ends', () => {
    expect(ended).toEqual({ code: 0, lastStatus: 200 })
  })

  it('ships each answer once, and the last words of both processes', () => {
    const messages = emulator.events('express').map(({ message }) => String(message))
    const answers = messages.filter(message => message.startsWith('GET '))
    expect(new Set(answers).size).toBe(21)
    expect(answers).toHaveLength(21)
    expect(messages.filter(message => message === 'stopping')).toHaveLength(2)
  })
})
