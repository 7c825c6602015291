/**
 * A process that logs at a steady rate. It gets its orders over the IPC channel, and sends its reports there.
 * steady-child.ts runs it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import './movable-clock.ts' // before the product
import { watched } from '../support/laws.ts'
import { moveClock } from './movable-clock.ts'
import type { Job, Order, Report } from './steady-child.ts'

const { options, perSecond, text, flushTimeoutMs } = JSON.parse(process.env.STEADY_JOB as string) as Job
const logs = watched(options)
let isToEnd = false
let logged = 0

process.on('message', (order: Order) => {
  if (order.kind === 'end') isToEnd = true
  if (order.kind === 'move the clock') moveClock(order.byMs)
  if (order.kind === 'block') {
    const untilMs = performance.now() + order.forMs
    while (performance.now() < untilMs);
  }
})

const report = (isDone: boolean): void => {
  const warnings = logs.warnings.map(({ message }) => message)
  process.send?.({
    logged,
    stats: logs.stats(),
    rssBytes: process.memoryUsage.rss(),
    warnings,
    isDone,
  } satisfies Report)
}
const clock = setInterval(report, 200, false)

const startedAtMs = performance.now()
while (!isToEnd) {
  const due = Math.floor(((performance.now() - startedAtMs) / 1000) * perSecond)
  logs.log(logged, due, { text })
  logged = due
  await sleep(5)
}
await logs.flush(flushTimeoutMs)
await logs.close(0)
clearInterval(clock)
report(true)
process.disconnect() // the process ends here, because nothing is left open
