import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { Stop } from '../src/cli/pipe/stop.ts'
import { sameSignalMs } from '../src/cli/stop-signals.ts'

it('the third signal ends logferry pipe by the signal, although the second one has stopped it', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  const stop = new Stop({ readOnMs: 10_000, onFirst: () => {} })
  process.emit('SIGTERM', 'SIGTERM')
  await delay(sameSignalMs + 50)
  process.emit('SIGTERM', 'SIGTERM')
  expect([stop.reading.aborted, stop.all.aborted, kill.mock.calls]).toEqual([true, true, []])
  process.emit('SIGINT', 'SIGINT')
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGINT']])
  await vi.waitFor(() => expect(exit).toHaveBeenCalledWith(130))
  stop.end()
})
