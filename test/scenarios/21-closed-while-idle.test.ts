import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startFaultServer } from '../support/fault-server.ts'
import { allOnce, tally, watched } from '../support/laws.ts'

const closings: Readonly<Record<string, (socket: Socket) => void>> = {
  closes: socket => socket.destroy(),
  resets: socket => socket.resetAndDestroy(),
  'half closes, and goes on reading,': socket => {
    socket.removeAllListeners('data')
    socket.on('data', () => {})
    socket.end()
  },
}

describe.concurrent('scenario 21: the server ends an idle connection', () => {
  const cases = Object.keys(closings).flatMap(way => [0, 1, 3, 20].map(afterMs => [way, afterMs] as const))

  it.each(cases)(
    'it %s %i ms after its answer, during the next request: invisible to the application',
    async (way, afterMs) => {
      await using server = await startFaultServer(request => {
        if (!request.isWhole) return
        request.take()
        if (afterMs === 0) closings[way]?.(request.socket)
        else setTimeout(() => closings[way]?.(request.socket), afterMs)
      })
      await using logs = watched({ baseUrl: server.url, maxRetryDelayMs: 20 })
      for (let n = 0; n < 8; n++) {
        logs.log(n)
        expect(await logs.flush()).toEqual({ complete: true, pending: 0 })
        await sleep(Math.max(0, afterMs - 2 + (n % 4)))
      }
      expect(tally(server.numbers, 8)).toEqual(allOnce)
      expect(logs.warnings).toEqual([])
      expect(await logs.close()).toEqual({ complete: true, pending: 0 })
      await server.whenDeserted()
    },
  )
})
