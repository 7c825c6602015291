import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { core, environmentFor } from '../exit/running.ts'
import { startFaultServer } from '../support/fault-server.ts'
import { runScript } from '../support/run-script.ts'

const exitTimeoutMs = 1500

/** An address that never answers. */
const holes: Readonly<Record<string, (socket: Socket) => void>> = {
  'reads, and never answers': () => {},
  'accepts, and never reads': socket => socket.pause(),
}

const ends = { 'by itself': '', 'by process.exit()': 'process.exit()', 'by an exception': `throw new Error('boom')` }

/** More bytes than the buffers of a connection hold while the server does not read. */
const much = `for (let n = 0; n < 2000; n++) shipper.ship({ n, text: 'x'.repeat(4000) })`

describe.concurrent('scenario 5: a black hole at the end of the process', () => {
  const cases = Object.keys(holes).flatMap(hole => (Object.keys(ends) as (keyof typeof ends)[]).map(end => [hole, end]))

  it.each(cases as [string, keyof typeof ends][])(
    'that %s: the process ends (%s) by its deadline, and reports the loss',
    async (hole, end) => {
      await using server = await startFaultServer(() => {}, { onConnection: socket => holes[hole]?.(socket) })
      const source = `${core(`exitTimeoutMs: ${exitTimeoutMs}, compression: 'none'`)}
      process.on('exit', () => console.error('stats ' + JSON.stringify(shipper.stats())))
      ${much}
      ${ends[end]}`
      const { stderr, ms } = await runScript(source, environmentFor(server))
      expect(server.connections).toBeGreaterThan(0)
      expect(stderr).toContain(`2000 events could not be delivered within ${exitTimeoutMs} ms`)
      const stats = JSON.parse(/^stats (.*)$/m.exec(stderr)?.[1] ?? '{}')
      expect(stats).toMatchObject({ accepted: 2000, delivered: 0, dropped: 2000, pending: 0, bufferedBytes: 0 })
      expect(ms).toBeGreaterThan(exitTimeoutMs)
      expect(ms).toBeLessThan(exitTimeoutMs + 4000)
    },
  )
})
