/** Tests of an application may replace `node:http` by a simulation, which emits only some of the events of Node. */
import { type ClientRequest, IncomingMessage, OutgoingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { createShipper } from '../../src/index.ts'
import { monotonicMs } from '../../src/time.ts'

afterEach(() => vi.restoreAllMocks())

/** Simulates each request as nock 13 does: the request never becomes `writableFinished`, and emits no 'close'. */
function simulateRequests(answer: (request: OutgoingMessage) => void): void {
  vi.spyOn(process.getBuiltinModule('node:http'), 'request').mockImplementation(() => {
    const request = new OutgoingMessage()
    request.end = () => {
      process.nextTick(answer, request)
      return request
    }
    return request as ClientRequest
  })
}

function accept(request: OutgoingMessage): void {
  const response = Object.assign(new IncomingMessage(new Socket()), { statusCode: 200 })
  request.emit('finish')
  request.emit('response', response)
  response.push('{}')
  response.push(null)
}

it('delivers to a simulated service, and closes at once', async () => {
  const errors = [new Error('simulated')]
  simulateRequests(request => {
    const error = errors.pop()
    if (error === undefined) accept(request)
    else request.emit('error', error)
  })
  const options = { baseUrl: 'http://127.0.0.1:9', token: 'a-token-of-tests', dataset: 'd', maxRetryDelayMs: 10 }
  const shipper = createShipper(options).on('warning', () => {})
  shipper.ship({ n: 0 })
  const startedAtMs = monotonicMs()
  expect(await shipper.close({ timeoutMs: 2000 })).toEqual({ complete: true, pending: 0 })
  expect(monotonicMs() - startedAtMs).toBeLessThan(900) // a request in flight holds up the end for a second
  expect(shipper.stats()).toMatchObject({ delivered: 1, requests: 2 })
})
