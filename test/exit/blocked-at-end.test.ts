import { describe, expect, it } from 'vitest'
import { startFaultServer, type WireRequest } from '../support/fault-server.ts'
import { allOnce, tally } from '../support/laws.ts'
import { runScript } from '../support/run-script.ts'
import { core, environmentFor, upTo } from './running.ts'

const ends: [string, string][] = [
  ['process.exit()', 'process.exit()'],
  ['its natural end', ''],
  ['close()', 'await shipper.close({ timeoutMs: 15_000 })'],
]

/** The search for what the firewall blocks takes several requests, which take long on a busy machine. */
const patient = 'exitTimeoutMs: 15_000'

/** A firewall, with the same answer as for a wrong token. */
const startFirewall = (isBlocked: (request: WireRequest) => boolean) =>
  startFaultServer(request => {
    if (!request.isWhole) return
    if (isBlocked(request)) request.answer('403 Forbidden', 'Forbidden')
    else request.take()
  })

describe.concurrent('a process that ends before it has had any answer', () => {
  it.each(ends)('by %s: arrives whole behind a firewall that blocks large bodies', async (_, end) => {
    await using server = await startFirewall(({ body }) => body.length > 8192)
    await runScript(`${core(`compression: 'none', ${patient}`)} log(0, 2000); ${end}`, environmentFor(server))
    expect(tally(server.numbers, 2000)).toEqual(allOnce)
    expect(server.requestCount).toBeLessThan(70)
  })

  it.each(ends)('by %s: loses one event behind a firewall that blocks that event', async (_, end) => {
    await using server = await startFirewall(request => request.lines().some(line => /"n":700\b/.test(line)))
    await runScript(`${core(patient)} log(0, 1000); ${end}`, environmentFor(server))
    expect(server.numbers.toSorted((a, b) => a - b)).toEqual(upTo(1000).filter(n => n !== 700))
  })

  it.each(ends)('by %s: makes few requests if the token is wrong', async (_, end) => {
    await using server = await startFirewall(() => true)
    const { stderr } = await runScript(`${core('exitTimeoutMs: 2000')} log(0, 1000); ${end}`, environmentFor(server))
    expect(server.requestCount).toBeLessThanOrEqual(6)
    expect(stderr).toMatch(
      /1000 events could not be delivered.*, because the service answers 403 .*Check that the token/,
    )
  })
})
