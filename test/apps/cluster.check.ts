import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { until } from '../support/until.ts'
import { addressOf, beginRequest, startApp } from './app.ts'

const workers = availableParallelism()

describe('the cluster, with a worker killed in the middle of a request', () => {
  let emulator: Emulator
  let directory: string
  let events: ReturnType<Emulator['events']>
  let ended: { code: number | null; stderr: string; lastStatus: number | undefined }

  beforeAll(async () => {
    emulator = await startEmulator()
    directory = await mkdtemp(join(tmpdir(), 'logferry-cluster-'))
    await using running = startApp(emulator, ['cluster/server.ts'], { SPOOL_DIRECTORY: directory })
    const url = await addressOf(running)
    await running.until(new RegExp(`(listening on[^]*){${workers}}`))

    await Promise.all(Array.from({ length: 50 }, async (_, n) => await (await fetch(`${url}/orders/${n}`)).text()))
    await expect(fetch(`${url}/crash`)).rejects.toThrow()
    await running.until(new RegExp(`(listening on[^]*){${workers + 1}}`))
    await until(() => messages().includes('GET /crash'), 'another process delivers what the killed worker left', 60_000)

    const last = await beginRequest(`${url}/orders/50`)
    const code = await running.end('SIGTERM')
    ended = { code, stderr: running.stderr(), lastStatus: await last.answered }
    events = emulator.events('cluster')
  })
  afterAll(async () => {
    await emulator?.close()
    if (directory) await rm(directory, { recursive: true })
  })

  const messages = () => emulator.events('cluster').map(({ message }) => message)

  it('serves the request under way, and ends without a warning', () => {
    expect(ended).toEqual({ code: 0, stderr: '', lastStatus: 200 })
  })

  it('ships the events of all requests, those of the killed worker included', () => {
    const requests = new Set(messages().filter(message => /^GET /.test(String(message))))
    expect(requests.size).toBe(52)
  })

  it('ships the end of the worker, by the primary, and names the process of each event', () => {
    const crash = events.find(({ message }) => message === 'GET /crash')
    const pid = (crash?.process as { pid: number } | undefined)?.pid
    expect(events.filter(({ message }) => message === 'worker died')).toMatchObject([
      { level: 'error', process: { role: 'primary' }, worker: { pid, signal: 'SIGKILL' } },
    ])
    expect(crash).toMatchObject({ process: { role: 'worker' } })
    expect(new Set(events.map(event => (event.process as { pid: number }).pid)).size).toBe(1 + workers + 1)
  })
})
