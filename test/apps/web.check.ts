import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { addressOf, beginRequest, build, startApp } from './app.ts'

type Event = ReturnType<Emulator['events']>[number]

const apps = [
  {
    name: 'Express',
    dataset: 'express',
    exitCode: 0,
    program: 'express/server.ts',
    isAnswer: ({ message }: Event) => /^GET /.test(String(message)),
    answerTo13: {
      level: 'info',
      message: 'GET /orders/13',
      http: { method: 'GET', route: '/orders/:id', status: 500 },
    },
  },
  {
    name: 'Fastify',
    dataset: 'fastify',
    exitCode: 0,
    program: 'fastify/server.ts',
    isAnswer: ({ message }: Event) => message === 'request completed',
    answerTo13: { level: 'info', message: 'request completed', res: { statusCode: 500 } },
  },
  {
    name: 'NestJS',
    dataset: 'nest',
    exitCode: null, // Nest raises the signal again
    program: 'nest/dist/main.js',
    isAnswer: ({ context }: Event) => context === 'RequestLogging',
    answerTo13: {
      level: 'info',
      message: 'GET /orders/13',
      http: { method: 'GET', route: '/orders/:id', status: 500 },
    },
  },
]

beforeAll(() => build('typescript/bin/tsc', '-p', 'nest'))

describe.each(apps)('the $name app, with 50 requests, one of them under way at SIGTERM', app => {
  let emulator: Emulator
  let events: Event[]
  let ended: { code: number | null; stderr: string; lastStatus: number | undefined }

  beforeAll(async () => {
    emulator = await startEmulator()
    await using running = startApp(emulator, [app.program])
    const url = await addressOf(running)
    const ids = Array.from({ length: 49 }, (_, n) => n + 1)
    await Promise.all(ids.map(async id => await (await fetch(`${url}/orders/${id}`)).text()))
    const last = await beginRequest(`${url}/orders/50`)
    const code = await running.end('SIGTERM')
    ended = { code, stderr: running.stderr(), lastStatus: await last.answered }
    events = emulator.events(app.dataset)
  })
  afterAll(() => emulator?.close())

  it('serves the request under way, and ends without a warning', () => {
    expect(ended).toMatchObject({ stderr: '', lastStatus: 200, code: app.exitCode })
  })

  it('ships each answer once, with a trace id of its own', () => {
    const traces = events.filter(app.isAnswer).map(({ trace_id }) => trace_id)
    expect(traces).toHaveLength(50)
    expect(new Set(traces).size).toBe(50)
    expect(traces).not.toContain(undefined)
  })

  it('ships the debug event of the request that failed, and of no other, before the error', () => {
    const debug = events.filter(({ level }) => level === 'debug')
    expect(debug).toMatchObject([{ message: 'order is not in the cache', order: { id: '13' } }])
    const ofTrace = events.filter(({ trace_id }) => trace_id === debug[0]?.trace_id)
    expect(ofTrace.map(({ level }) => level).filter(level => level !== 'info')).toEqual(['debug', 'error'])
    expect(ofTrace.find(app.isAnswer)).toMatchObject(app.answerTo13)
  })

  it('ships the error with its stack', () => {
    const errors = events.filter(({ level }) => level === 'error')
    expect(errors).toHaveLength(1)
    expect(JSON.stringify(errors[0])).toMatch(/the database is away.*\\n {4}at /)
  })

  it('ships what it logs outside of requests, without a trace id', () => {
    expect(events.find(({ message }) => /listening/.test(String(message)))).not.toHaveProperty('trace_id')
  })
})
