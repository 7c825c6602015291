import type { IncomingMessage } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { RequestTrail } from '../../src/dev/intake/request-trail.ts'
import type { ReceivedRequest } from '../../src/emulator/request-log.ts'

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
