/**
 * One run: one set-up, in this process of its own, under one load. Started by harness/run-process.ts, which passes questions
 * to the receiver on.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { ReceiverRequest } from '../receiver/receiver.ts'
import type { Arrived } from '../receiver/tally.ts'
import { setUpOf } from '../set-ups/catalogue.ts'
import { NotAvailable, type Source } from '../set-ups/set-up.ts'
import { workloadOf, workloadOfShape } from '../workload/event.ts'
import type { Load } from '../workload/load.ts'
import type { Figures } from './figures.ts'
import { makeLogCalls } from './make-log-calls.ts'
import { peakRssBytes, processorTime, startLoopDelay, startWatchingTurns } from './meters.ts'

export interface RunRequest {
  readonly setUp: string
  readonly load: Load
  readonly port: number
  /** An empty folder on a disk. */
  readonly folder: string
}

export type RunMessage =
  | { readonly kind: 'ask'; readonly request: ReceiverRequest }
  | { readonly kind: 'figures'; readonly figures: Figures }
  | { readonly kind: 'not available'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string }

/** Nothing new for so long, and everything that was on its way has arrived, in milliseconds. */
const quietMs = 200
const lookEveryMs = 20

// Without a listener for messages, the channel would not keep the process alive.
process.channel?.ref()
process.once('message', async (request: RunRequest) => {
  let message: RunMessage
  try {
    message = { kind: 'figures', figures: await measured(request) }
  } catch (error) {
    if (error instanceof NotAvailable) message = { kind: 'not available', why: error.message }
    else message = { kind: 'failed', why: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
  process.send?.(message, () => process.exit()) // some libraries never let a process end
})

async function measured({ setUp: name, load, port, folder }: RunRequest): Promise<Figures> {
  const setUp = setUpOf(name)
  const { events, shape } = load
  const workload = shape === undefined ? workloadOf(load.eventBytes, load.text) : workloadOfShape(shape)
  const source = await setUp.open({ url: `http://127.0.0.1:${port}`, port, load, workload, folder })
  const lingersMs = setUp.lingersMs ?? 0

  await warmUp(source, load, lingersMs)
  await ask({ ask: 'expect', events, answerDelayMs: load.answerDelayMs })

  const stopWatchingTurns = load.mode.kind === 'watched' ? startWatchingTurns() : undefined
  const stopLoopDelay = startLoopDelay()
  const startedAtNs = Number(process.hrtime.bigint())
  const before = processorTime()
  const callsMs = await makeLogCalls(source.log, load, 0, events)
  await source.end()
  const endedAtNs = Number(process.hrtime.bigint())
  const turns = stopWatchingTurns?.()
  const loopDelay = stopLoopDelay()
  const after = await whenAllIsThere(lingersMs)
  const arrived = (await ask({ ask: 'total' })) as Arrived

  const isShipped = setUp.family !== 'floor'
  const lastNs = isShipped && arrived.lastBodyAtNs > 0 ? arrived.lastBodyAtNs : endedAtNs
  const seconds = (lastNs - startedAtNs) / 1e9
  const mainUs = after.mainUs - before.mainUs
  return {
    logged: events,
    delivered: arrived.delivered,
    lost: isShipped ? events - arrived.delivered : 0,
    duplicated: arrived.duplicated,
    mainCpuUs: mainUs / events,
    processCpuUs: (after.processUs - before.processUs) / events,
    callNs: (callsMs * 1e6) / events,
    eventsPerSecond: (isShipped ? arrived.delivered : events) / seconds,
    coreShare: mainUs / 1e6 / seconds,
    peakRssMb: peakRssBytes() / 1e6,
    loopDelayP99Ms: loopDelay.p99Ms,
    loopDelayMaxMs: loopDelay.maxMs,
    ...(turns && { longestTurnMs: turns.longestMs, turnP99Ms: turns.p99Ms }),
    wireMb: arrived.wireBytes / 1e6,
    requests: arrived.requests,
  }
}

/** The first thousands of events meet code that is not compiled yet. They carry numbers that the receiver ignores. */
async function warmUp(source: Source, { events, warmUpEvents }: Load, lingersMs: number): Promise<void> {
  if (warmUpEvents === 0) return
  await ask({ ask: 'expect', events: 0, answerDelayMs: 0 })
  await makeLogCalls(source.log, { mode: { kind: 'chunks', perTurn: 1000 } }, events, warmUpEvents)
  await source.flush?.()
  await whenAllIsThere(lingersMs)
}

/**
 * Waits until nothing more arrives.
 *
 * @returns the processor's time when the last of it had arrived
 */
async function whenAllIsThere(lingersMs: number): Promise<ReturnType<typeof processorTime>> {
  let time = processorTime()
  let seen = await requests()
  for (let sinceMs = performance.now(); performance.now() - sinceMs < Math.max(lingersMs, quietMs); ) {
    await pause(lookEveryMs)
    const now = await requests()
    if (now === seen) continue
    seen = now
    sinceMs = performance.now()
    time = processorTime()
  }
  return time
}

async function requests(): Promise<number> {
  return ((await ask({ ask: 'requests' })) as { requests: number }).requests
}

/** Questions go one at a time. */
function ask(request: ReceiverRequest): Promise<unknown> {
  return new Promise(resolve => {
    process.once('message', resolve)
    process.send?.({ kind: 'ask', request } satisfies RunMessage)
  })
}
