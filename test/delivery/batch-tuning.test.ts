import { describe, expect, it } from 'vitest'
import { tune } from '../../src/delivery/batch-tuning.ts'

const MiB = 1_048_576
const configured = {
  maxBatchBytes: MiB,
  maxBatchEvents: 10_000,
  maxBatchAgeMs: 1000,
  batchBytesCeiling: 16 * MiB,
  maxUnlimitedBytes: 4 * MiB,
}
const unlimited = { requestsPerSecond: Number.POSITIVE_INFINITY }
const load = {
  requestsPerSecond: 5,
  bytesPerSecond: 0,
  waitingBytes: 0,
  eventsPerSecond: 0,
  waitingEvents: 0,
  datasets: 1,
}

describe('batches tuned to the request rate', () => {
  it.each([
    ['no limit, 40 MB/s: as configured', { ...unlimited, bytesPerSecond: 40e6 }, MiB, 1000],
    [
      'no limit, 50 MB/s: twice as much, for there would be more than 40 requests a second',
      { ...unlimited, bytesPerSecond: 50e6 },
      2 * MiB,
      1000,
    ],
    ['no limit, 1 GB/s: no more than allowed', { ...unlimited, bytesPerSecond: 1e9 }, 4 * MiB, 1000],
    ['a little load: as configured', { bytesPerSecond: 100_000 }, MiB, 1000],
    [
      '8 MB/s in 5 requests: nine tenths of what a fifth of a second brings',
      { bytesPerSecond: 8_000_000 },
      1_440_000,
      1000,
    ],
    [
      'what waits is worked off in five seconds',
      { bytesPerSecond: 8_000_000, waitingBytes: 20_000_000 },
      2_240_000,
      1000,
    ],
    ['never more than memory and the service take', { bytesPerSecond: 1e9 }, 16 * MiB, 1000],
    ['one request in ten seconds: what was logged before goes with it', { requestsPerSecond: 0.1 }, MiB, 0],
    ['one request a second: the same, as the next is a second away', { requestsPerSecond: 1 }, MiB, 0],
    ['three requests in two seconds: the same', { requestsPerSecond: 1.5 }, MiB, 0],
    ['a batch is due several times less often than its turn comes: as configured', { requestsPerSecond: 2 }, MiB, 1000],
    ['twenty datasets share the requests', { datasets: 20 }, MiB, 0],
  ])('%s', (_, part, maxBatchBytes, maxBatchAgeMs) => {
    expect(tune({ ...load, ...part }, configured)).toMatchObject({ maxBatchBytes, maxBatchAgeMs })
  })

  it.each([
    ['no limit: as configured, however many events there are', { ...unlimited, eventsPerSecond: 1e6 }, 10_000],
    ['few events: as configured', { eventsPerSecond: 10_000 }, 10_000],
    ['20,000 events/s in one request: nine tenths of them', { requestsPerSecond: 1, eventsPerSecond: 20_000 }, 18_000],
    ['what waits is worked off in five seconds', { requestsPerSecond: 1, waitingEvents: 200_000 }, 40_000],
    ['never more than may be configured', { eventsPerSecond: 1e9 }, 100_000],
  ])('their events: %s', (_, part, maxBatchEvents) => {
    expect(tune({ ...load, ...part }, configured)).toMatchObject({ maxBatchEvents })
  })
})
