import { describe, expect, it } from 'vitest'
import { upTo } from '../exit/running.ts'
import { emulated } from '../support/emulated.ts'

describe.concurrent('scenario 7: one event among 10,000 makes the service refuse the batch', () => {
  it.each([
    [400, 0, 'zstd'],
    [400, 7777, 'none'],
    [422, 9999, 'gzip'],
  ] as const)(
    'by %i, event %i: the other 9,999 are delivered in 32 requests at most (%s)',
    async (status, poison, compression) => {
      await using scene = await emulated({ compression })
      const { emulator, logs } = scene
      emulator.faults.rejectRequests(event => event.n === poison, { status, body: { message: 'a field has no name' } })
      logs.log(0, 10_000)
      expect(await logs.close()).toEqual({ complete: true, pending: 0 })
      expect(scene.numbers().toSorted((a, b) => a - b)).toEqual(upTo(10_000).filter(n => n !== poison))
      expect(emulator.stats().requests).toBeLessThanOrEqual(32)
      expect(logs.stats()).toMatchObject({ delivered: 9999, dropped: 1, drops: { rejected: { info: 1 } } })
      const told = logs.rejections.map(({ event, reason }) => [event?.n, status, reason])
      expect(told).toEqual([[poison, status, 'a field has no name']])
    },
  )

  it('the compression is not blamed, and continues', async () => {
    await using scene = await emulated()
    scene.emulator.faults.rejectRequests(event => event.n === 0)
    scene.logs.log(0, 1000)
    await scene.logs.close()
    expect(scene.logs.stats().compression).toBe('zstd')
    expect(scene.logs.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_REJECTED'])
  })
})
