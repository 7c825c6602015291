import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { until } from '../support/until.ts'
import { freePort, startApp } from './app.ts'

const jobCount = 200

describe(`the queue worker, with ${jobCount} jobs, and SIGTERM in the middle of them`, () => {
  let redis: ChildProcess
  let emulator: Emulator
  let firstWorker: { code: number | null; stderr: string; placed: number }

  const placed = () => emulator.events('queue').filter(({ message }) => message === 'order placed')

  beforeAll(async () => {
    emulator = await startEmulator()
    const port = await freePort()
    redis = await startRedis(port)
    const environment = { REDIS_URL: `redis://127.0.0.1:${port}` }

    await using producer = startApp(emulator, ['queue/add-orders.ts', `${jobCount}`], environment)
    expect(await producer.end()).toBe(0)

    await using first = startApp(emulator, ['queue/worker.ts'], environment)
    await first.until(/order placed/)
    const code = await first.end('SIGTERM')
    firstWorker = { code, stderr: first.stderr(), placed: placed().length }

    await using second = startApp(emulator, ['queue/worker.ts'], environment)
    await until(() => placed().length >= jobCount, 'the second worker does the other jobs', 60_000)
    expect(await second.end('SIGTERM')).toBe(0)
  })
  afterAll(async () => {
    redis?.kill()
    await emulator?.close()
  })

  it('ends after the jobs under way, and leaves the others to another worker', () => {
    expect(firstWorker).toMatchObject({ code: 0, stderr: '' })
    expect(firstWorker.placed).toBeGreaterThan(0)
    expect(firstWorker.placed).toBeLessThan(jobCount)
  })

  it('ships one event for each order that is accepted, and one for each that is placed', () => {
    const ids = Array.from({ length: jobCount }, (_, n) => n + 1)
    for (const message of ['order accepted', 'order placed']) {
      const orders = emulator.events('queue').filter(event => event.message === message)
      expect(orders.map(({ order }) => (order as { id: number }).id).sort((a, b) => a - b)).toEqual(ids)
    }
  })

  it('ships the failed attempt at a job, and marks events with job, attempt and the trace of the producer', () => {
    const ofOrder3 = emulator.events('queue').filter(({ job }) => (job as { id?: string } | undefined)?.id === '3')
    expect(ofOrder3).toMatchObject([
      { message: 'order accepted', order: { id: 3 } },
      {
        level: 'error',
        message: 'job failed',
        job: { attempt: 1 },
        error: { message: 'the warehouse does not answer' },
      },
      { level: 'info', message: 'order placed', job: { name: 'place', attempt: 2 }, order: { id: 3 } },
    ])
    expect(new Set(ofOrder3.map(({ trace_id }) => trace_id)).size).toBe(1)
  })
})

async function startRedis(port: number): Promise<ChildProcess> {
  const server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'])
  try {
    await once(server, 'spawn')
  } catch (cause) {
    throw new Error('no redis-server here; install it with: apt-get install -y redis-server', { cause })
  }
  for await (const text of server.stdout) if (String(text).includes('Ready to accept')) break
  return server
}
