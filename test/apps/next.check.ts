import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { beginRequest, build, folder, freePort, startApp } from './app.ts'

/** The server as containers run it: only the files that Next has traced. */
const server = 'next/.next/standalone/next/server.js'

describe('the Next.js app, built and run as a container runs it', () => {
  let emulator: Emulator
  let events: ReturnType<Emulator['events']>
  let ended: { code: number | null; stderr: string; lastStatus: number | undefined }

  beforeAll(async () => {
    await build('next/dist/bin/next', 'build', 'next')
    await cp(join(folder, 'next/.next/static'), join(folder, 'next/.next/standalone/next/.next/static'), {
      recursive: true,
    })
    emulator = await startEmulator()
    const port = await freePort()
    await using running = startApp(emulator, [server], { PORT: `${port}`, HOSTNAME: '127.0.0.1' })
    await running.until(/Ready/)
    const url = `http://127.0.0.1:${port}`
    for (const path of ['/', '/broken', '/orders/42', '/orders/13']) await (await fetch(url + path)).text()
    const last = await beginRequest(`${url}/orders/50`)
    const code = await running.end('SIGTERM')
    ended = { code, stderr: running.stderr(), lastStatus: await last.answered }
    // Next calls process.exit(). Events that are in flight at that moment are sent again, and may arrive twice.
    const lines = new Set(emulator.lines('next'))
    events = [...lines].map(line => JSON.parse(line))
  })
  afterAll(() => emulator?.close())

  it('serves the request under way at SIGTERM, and ends without a warning of logferry', () => {
    expect(ended).toMatchObject({ code: 143, lastStatus: 200 })
    expect(ended.stderr).not.toContain('logferry')
  })

  it('ships the event of instrumentation.ts once', () => {
    expect(events.filter(({ message }) => message === 'server started')).toHaveLength(1)
  })

  it('ships each answer of a route handler once, with a trace id of its own', () => {
    const answers = events.filter(({ message }) => /^GET /.test(String(message)))
    expect(answers.map(({ message }) => message)).toEqual(['GET /orders/42', 'GET /orders/13', 'GET /orders/50'])
    expect(new Set(answers.map(({ trace_id }) => trace_id)).size).toBe(3)
  })

  it('ships the debug event of the request that failed, and of no other', () => {
    const debug = events.filter(({ level }) => level === 'debug')
    expect(debug).toMatchObject([{ order: { id: '13' } }])
    expect(events.filter(({ trace_id }) => trace_id === debug[0]?.trace_id)).toMatchObject([
      { level: 'debug', message: 'order is not in the cache' },
      { level: 'error', message: 'handler failed', error: { message: 'the database is away' } },
      { level: 'info', message: 'GET /orders/13', http: { method: 'GET', status: 500 } },
    ])
  })

  it('ships the event of a page', () => {
    expect(events.filter(({ message }) => message === 'page rendered')).toMatchObject([{ page: '/' }])
  })

  it('ships the error of a page with its route', () => {
    expect(events.filter(({ message }) => message === 'page failed')).toMatchObject([
      { level: 'error', error: { message: 'the database is away' }, http: { method: 'GET', route: '/broken' } },
    ])
  })
})
