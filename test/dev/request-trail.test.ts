import type { IncomingMessage } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { RequestTrail } from '../../src/dev/intake/request-trail.ts'
import { paths, type RequestsAnswer } from '../../src/dev/protocol.ts'
import type { Ingest } from '../../src/emulator/ingest.ts'
import type { ReceivedRequest } from '../../src/emulator/request-log.ts'
import { startDev } from './service.ts'

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

it('keeps the start of a long path and of a long header, and not the rest', () => {
  const trail = new RequestTrail()
  const long = (n: number) => Buffer.alloc(20_000, `${n}-abc`).toString('latin1')
  collect()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 2000; n += 1) {
    const headers = { 'user-agent': long(n) }
    const entry = { atMs: n, method: 'GET', path: `/${long(n)}` } as ReceivedRequest
    trail.opened(entry, { headers } as unknown as IncomingMessage)
  }
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(15_000_000)
  const newest = trail.detail(2000)
  expect(newest?.path).toHaveLength(1001)
  expect(newest?.headers[0]?.[1]).toHaveLength(200)
})

it('learns nothing of a request whose body comes after 2,000 others, when it is forgotten', () => {
  const trail = new RequestTrail()
  const opened = (atMs: number) => {
    const entry = { atMs, method: 'POST', path: '/v1/datasets/d/ingest' } as ReceivedRequest
    trail.opened(entry, { headers: {} } as IncomingMessage)
    return entry
  }
  const read = (entry: ReceivedRequest) => {
    const body = Buffer.from('[{"n":1}]')
    trail.read({ entry, dataset: 'd', body, readAhead: body } as unknown as Ingest)
    return trail.storing(entry)
  }
  const slow = opened(0)
  const others = Array.from({ length: 2000 }, (_, n) => opened(n))
  expect(read(slow)).toEqual({ n: 0, isDuplicate: false })
  expect(read(others[7] as ReceivedRequest)).toEqual({ n: 9, isDuplicate: false })
  expect(trail.detail(9)?.retryOf).toBeUndefined()
})

it('takes no request without events for a retry, as `logferry check` sends several that are alike', async () => {
  await using dev = await startDev()
  for (let n = 0; n < 2; n += 1) await dev.ingest([])
  const { requests } = await dev.get<RequestsAnswer>(paths.requests)
  expect(requests.map(({ n, status, retryOf, duplicate }) => [n, status, retryOf, duplicate])).toEqual([
    [2, 200, undefined, false],
    [1, 200, undefined, false],
  ])
})

it('names the datasets of all kinds of requests, whatever it is asked for', () => {
  const trail = new RequestTrail()
  const ended = (dataset: string | undefined, reason: string) => {
    const path = `/v1/datasets/${dataset}/ingest`
    const entry = { atMs: 0, method: 'POST', path, dataset, reason, eventCount: 0, wireBytes: 0, decodedBytes: 0 }
    trail.opened(entry as ReceivedRequest, { headers: {} } as IncomingMessage)
    trail.ended(entry as ReceivedRequest, false)
  }
  ended('stored', '')
  ended('refused', 'too large')
  ended(undefined, 'the token is unknown')
  expect(trail.list({ dataset: 'stored', limit: 1 }).datasets).toEqual(['refused', 'stored'])
  for (let n = 0; n < 1000; n += 1) ended(`d${n}`, '')
  const { datasets } = trail.list({})
  expect(datasets).toHaveLength(100)
  expect(datasets).toContain('d999')
})
