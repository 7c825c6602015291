/** Tests of an application may replace `node:http` by a simulation, which emits only some of the events of Node. */
import { once } from 'node:events'
import { type ClientRequest, createServer, IncomingMessage, OutgoingMessage } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
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

it.each(['first', 'second'])(
  'a simulation that throws at the %s request costs an attempt, no event and no process',
  async nth => {
    const failing = nth === 'first' ? 1 : 2
    let requests = 0
    const uncaught = vi.fn()
    const original = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').on('uncaughtException', uncaught)
    const server = createServer((request, response) => request.resume().on('end', () => response.end('{}'))).listen(0)
    await once(server, 'listening')
    const http = process.getBuiltinModule('node:http')
    const { request } = http
    vi.spyOn(http, 'request').mockImplementation((...given) => {
      if (++requests === failing) throw new Error('simulated')
      return Reflect.apply(request, http, given)
    })
    const { port } = server.address() as AddressInfo
    const baseUrl = `http://127.0.0.1:${port}`
    const shipper = createShipper({ baseUrl, token: 'a-token-of-tests', dataset: 'd', maxRetryDelayMs: 10 })
    try {
      for (let n = 0; n < 2; n++) {
        shipper.ship({ n })
        expect(await shipper.flush({ timeoutMs: 2000 })).toEqual({ complete: true, pending: 0 })
        await delay(20) // the kept connection may have something unread after this time
      }
      expect(requests).toBe(3)
      expect(uncaught).not.toHaveBeenCalled()
    } finally {
      await shipper.close()
      server.close()
      process.removeAllListeners('uncaughtException')
      for (const listener of original) process.on('uncaughtException', listener)
    }
  },
)
