/**
 * Question: for how long at a time does shipping keep the main thread from everything else?
 * Workload: events of 400 bytes, 4 KB, 100 KB and 950 KB at rates from 40 MB/s down, for 4 seconds (quick: 400 bytes and
 *   950 KB, 2 seconds), while the event loop never sleeps and each of its turns is timed. The log calls of a group are part of
 *   a turn; compare with no-op-winston, which has the same.
 * Excluded: on Linux, what the thread waits for while the processor does something else. Garbage collection is in it.
 * Command: npm run bench -- --only stretches
 */
import type { Load } from '../workload/load.ts'
import { crossed, type Experiment } from './experiment.ts'

const subjects = ['no-op-winston', 'bare-winston', 'bare-winston-zstd', 'logferry-winston', 'logferry-winston-zstd']

export const stretches: Experiment = {
  name: 'stretches',
  question: 'For how long at a time does logging keep the main thread from everything else?',
  rounds: { full: 3, quick: 2 },
  shows: ['longestTurnMs', 'turnP99Ms', 'lost', 'duplicated', 'requests'],
  charts: ['longestTurnMs'],
  cases(extent) {
    const sizes = { '400 B': watched(400, 10_000, 4), '950 KB': watched(950_000, 20, 4) }
    if (extent === 'quick') {
      const quick = { '400 B': watched(400, 10_000, 2), '950 KB': watched(950_000, 20, 2) }
      return crossed(['no-op-winston', 'logferry-winston-zstd'], quick)
    }
    return crossed(subjects, { ...sizes, '4 KB': watched(4096, 5000, 4), '100 KB': watched(102_400, 200, 4) })
  },
}

function watched(eventBytes: number, perSecond: number, seconds: number): Partial<Load> {
  const events = perSecond * seconds
  return { mode: { kind: 'watched', perSecond }, events, eventBytes, warmUpEvents: Math.min(20_000, events) }
}
