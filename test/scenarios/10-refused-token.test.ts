import { describe, expect, it } from 'vitest'
import { emulated } from '../support/emulated.ts'

describe.concurrent('scenario 10: the token is refused', () => {
  it('for longer than memory lasts: memory stays within its limit, and every event is delivered or counted', async () => {
    const maxBufferedBytes = 2 ** 20
    await using scene = await emulated({ maxBatchBytes: 65_536, maxBufferedBytes })
    const { emulator, logs } = scene
    emulator.faults.answerNext(Number.POSITIVE_INFINITY, { status: 403 })
    const kept = logs.log(0, 5000, { text: 'x'.repeat(500) })
    await logs.flush(200)
    const { drops, requests } = logs.stats()
    expect(requests).toBeLessThanOrEqual(4) // requests in flight at the first refusal
    expect(drops).toEqual({ memory: { info: 5000 - kept } })
    expect([kept > 1000, kept < 5000]).toEqual([true, true])
    emulator.faults.clear()
    expect(await logs.close()).toMatchObject({ complete: true })
    expect(scene.numbers().filter(n => n !== undefined)).toHaveLength(kept)
    expect(logs.peakBufferedBytes).toBeLessThanOrEqual(maxBufferedBytes)
  })
})
