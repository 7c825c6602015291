/** A program that logs, and ends in one of three ways. Started by experiments/faults.ts in a process of its own. */
import { setTimeout as pause } from 'node:timers/promises'
import { setUpOf } from '../set-ups/catalogue.ts'
import { workloadOf } from '../workload/event.ts'
import { ordinaryLoad } from '../workload/load.ts'

/** How the program ends: as its library wants it, by `process.exit()`, or by an uncaught error. */
export type Ending = 'end' | 'exit' | 'throw'

export interface ProgramRequest {
  readonly setUp: string
  readonly port: number
  readonly folder: string
  readonly events: number
  /** Events logged in one turn of the event loop; all of them, if the program ends in that turn. */
  readonly perTurn: number
  /** Time between two such turns, in milliseconds. */
  readonly turnMs: number
  /** Time between the last log call and the end, in milliseconds. */
  readonly restMs: number
  readonly ending: Ending
}

/** What the program tells: that it begins to log, and that its library has delivered all it can. */
export type ProgramMessage = 'logging' | 'ended'

process.channel?.ref()
process.once('message', async (request: ProgramRequest) => {
  const { setUp, port, folder, events, perTurn, turnMs, restMs, ending } = request
  const workload = workloadOf(ordinaryLoad.eventBytes, ordinaryLoad.text)
  const load = { ...ordinaryLoad, events, warmUpEvents: 0 }
  const source = await setUpOf(setUp).open({ url: `http://127.0.0.1:${port}`, port, load, workload, folder })
  await told('logging')
  for (let n = 0; n < events; ) {
    for (const end = Math.min(n + perTurn, events); n < end; n += 1) source.log(n)
    if (n < events) await pause(turnMs)
  }
  if (ending === 'exit') process.exit()
  if (ending === 'throw') {
    process.channel?.unref()
    queueMicrotask(() => {
      throw new Error('an error that nothing catches')
    })
    return
  }
  await pause(restMs)
  await source.end()
  await told('ended')
  process.channel?.unref()
})

function told(message: ProgramMessage): Promise<void> {
  return new Promise(resolve => process.send?.(message, () => resolve()))
}
