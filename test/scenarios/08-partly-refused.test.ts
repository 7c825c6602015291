import { describe, expect, it } from 'vitest'
import { upTo } from '../exit/running.ts'
import { emulated } from '../support/emulated.ts'

describe.concurrent('scenario 8: a 200 with failed: 3', () => {
  it('is not sent again; the three are counted and reported with the service’s reason', async () => {
    await using scene = await emulated()
    const { emulator, logs } = scene
    const refused = [3, 500, 999]
    emulator.faults.rejectEvents(event => refused.includes(event.n as number), 'too many fields')
    logs.log(0, 1000)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(scene.numbers()).toEqual(upTo(1000).filter(n => !refused.includes(n)))
    expect(logs.rejections.map(({ event, reason }) => [event?.n, reason])).toEqual(
      refused.map(n => [n, 'too many fields']),
    )
    expect(logs.stats()).toMatchObject({ delivered: 997, dropped: 3, drops: { rejected: { info: 3 } }, requests: 1 })
    expect(logs.warnings.map(({ code }) => code)).toEqual(['LOGFERRY_REJECTED'])
  })
})
