/** A dispatcher of the application may have interceptors that do not pass an abort on. */
import { expect, it, vi } from 'vitest'
import type { DispatchHandler } from '../../src/http/dispatcher.ts'
import { exchange } from '../../src/http/exchange.ts'

const request = { method: 'GET', origin: 'http://127.0.0.1:9', path: '/', headers: {} } as const
const never = new AbortController().signal
const controller = { abort: () => {} }

/** Begins an exchange over a dispatcher that ignores aborts. */
function begin(timeoutMs: number, onHead?: () => void) {
  const { promise, resolve } = Promise.withResolvers<DispatchHandler>()
  const dispatcher = {
    dispatch: (_: unknown, handler: DispatchHandler) => {
      resolve(handler)
      return true
    },
  }
  return { answer: exchange(dispatcher, request, timeoutMs, never, 10, onHead), handler: promise }
}

it('an answer that goes on although it is too long is read no further', async () => {
  const { answer, handler } = begin(5000)
  const { onResponseStart, onResponseData } = await handler
  onResponseStart(controller, 200, {})
  onResponseData(controller, Buffer.alloc(11, 'x'))
  const chunk = Buffer.alloc(1, 'y')
  const copy = vi.spyOn(chunk, 'copy')
  onResponseData(controller, chunk)
  expect(copy).not.toHaveBeenCalled()
  const { body, cut } = await answer
  expect([String(body), cut]).toEqual(['xxxxxxxxxxx', 'too-long'])
})

it('a status after the time is up says nothing any more', async () => {
  const onHead = vi.fn()
  const { answer, handler } = begin(1, onHead)
  await expect(answer).rejects.toThrow('no complete answer within 1 ms')
  const { onResponseStart } = await handler
  onResponseStart(controller, 200, {})
  expect(onHead).not.toHaveBeenCalled()
})
