import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Emulator, startEmulator } from '../../src/emulator.ts'
import { environmentFor, folder } from './app.ts'

describe('the Lambda function, frozen from each answer to the next invocation', () => {
  let emulator: Emulator
  let runtime: ChildProcessByStdio<Writable, Readable, null>
  let answers: Interface
  let invocations = 0

  beforeAll(async () => {
    emulator = await startEmulator()
    runtime = spawn(process.execPath, [join(folder, 'lambda/local.ts')], {
      env: { PATH: process.env.PATH, ...environmentFor(emulator) },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    answers = createInterface({ input: runtime.stdout })
  })
  afterAll(async () => {
    runtime?.kill('SIGKILL')
    await emulator?.close()
  })

  /** Thaws the runtime, invokes the handler, and freezes the runtime as soon as the answer is there. */
  async function invoke(order: { id: number }): Promise<{ answer: unknown; messages: unknown[] }> {
    invocations++
    const before = emulator.eventCount('lambda')
    runtime.kill('SIGCONT')
    runtime.stdin.write(`${JSON.stringify(order)}\n`)
    const [line] = await once(answers, 'line')
    runtime.kill('SIGSTOP')
    const messages = emulator
      .events('lambda')
      .slice(before)
      .map(({ message }) => message)
    return { answer: JSON.parse(line), messages }
  }

  it('has delivered the events of an invocation when it answers', async () => {
    expect(await invoke({ id: 42 })).toEqual({
      answer: { statusCode: 200, body: '{"id":42}' },
      messages: ['POST /orders', 'order placed'],
    })
    expect(await invoke({ id: 13 })).toMatchObject({
      answer: { statusCode: 500 },
      messages: ['POST /orders', 'handler failed'],
    })
  })

  it('answers while the service is away, and delivers with a later invocation', async () => {
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 503 })
    expect(await invoke({ id: 43 })).toEqual({ answer: { statusCode: 200, body: '{"id":43}' }, messages: [] })
    emulator.faults.clear()
    for (let more = 0; emulator.eventCount('lambda') < 2 * invocations; more++) {
      expect(more).toBeLessThan(5)
      expect(await invoke({ id: 44 })).toMatchObject({ answer: { statusCode: 200 } })
    }
  })

  it('marks the events of each invocation, and the cold start', () => {
    const traces = Object.groupBy(emulator.events('lambda'), ({ trace_id }) => `${trace_id}`)
    expect(Object.keys(traces)).toHaveLength(invocations)
    expect(Object.values(traces).filter(events => events?.length !== 2)).toEqual([])
    const starts = emulator.events('lambda').filter(({ message }) => message === 'POST /orders')
    expect(starts.filter(({ cold_start }) => cold_start === true)).toHaveLength(1)
  })
})
