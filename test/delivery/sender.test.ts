import { expect, it } from 'vitest'
import { Compression } from '../../src/delivery/compression.ts'
import { type Attempt, Sender } from '../../src/delivery/sender.ts'
import type { WorkerHttpClient } from '../../src/http/worker-client.ts'
import { resolveOptions } from '../../src/options/resolve.ts'
import { delivered, pipelineTo } from './wired.ts'

it('a request that cannot be made at the end of the process is an attempt without an answer, as any other is', () => {
  const options = resolveOptions({ baseUrl: 'http://localhost:1', token: 't', dataset: 'd' }, {})
  const sender = new Sender(options, new Compression('none'), text => text)
  const client: Pick<WorkerHttpClient, 'post'> = {
    post: () => {
      throw new RangeError('Array buffer allocation failed')
    },
  }
  const { batchQueue, log } = pipelineTo(() => delivered, { maxBatchEvents: 1 })
  log(1)
  const batch = batchQueue.dequeue(performance.now()) ?? expect.fail('no batch')
  const attempts: Attempt[] = []
  sender.sendSync(client as WorkerHttpClient, batch, attempt => attempts.push(attempt))
  expect(attempts).toMatchObject([{ outcome: { kind: 'retryable', reason: 'Array buffer allocation failed' } }])
})
