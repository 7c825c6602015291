import { describe, expect, it } from 'vitest'
import { upTo } from '../exit/running.ts'
import { emulated } from '../support/emulated.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { watched } from '../support/laws.ts'

describe.concurrent('scenario 8: a 200 with failed: 3', () => {
  it('is not sent again; the three events are counted and reported with the service’s reason', async () => {
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

  it('with failed: 5000 in an answer of a megabyte: each event is reported', async () => {
    await using scene = await emulated({ maxBatchBytes: 4 * 1_048_576 })
    const { emulator, logs } = scene
    const reason = 'no such field '.repeat(14).trim()
    emulator.faults.rejectEvents(event => (event.n as number) % 2 === 1, reason)
    logs.log(0, 10_000)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(logs.stats()).toMatchObject({ delivered: 5000, drops: { rejected: { info: 5000 } }, requests: 1 })
    expect(logs.rejections.map(({ event }) => event?.n)).toEqual(upTo(10_000).filter(n => n % 2 === 1))
    expect(new Set(logs.rejections.map(({ reason }) => reason))).toEqual(new Set([reason]))
  })

  it('in an answer that breaks off: all failures are counted, and the named ones reported', async () => {
    await using server = await startFaultServer(request => {
      if (!request.isWhole) return
      const [first] = request.body.toString('utf8').split('\n')
      const { _time: timestamp } = JSON.parse(first as string)
      const said = `{"ingested":7,"failed":3,"failures":[{"timestamp":"${timestamp}","error":"too wide"},{"times`
      request.socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n${said}`)
    })
    await using logs = watched({ baseUrl: server.url, compression: 'none' })
    logs.log(0, 10)
    expect(await logs.close()).toEqual({ complete: true, pending: 0 })
    expect(logs.stats()).toMatchObject({ delivered: 7, dropped: 3, requests: 1 })
    expect(logs.rejections.map(({ event, reason }) => [event?.n, reason])).toEqual([
      [0, 'too wide'],
      [undefined, 'no reason given'],
      [undefined, 'no reason given'],
    ])
  })
})
