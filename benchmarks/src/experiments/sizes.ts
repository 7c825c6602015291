/**
 * Question: how does the cost follow the size of an event?
 * Workload: events of 100 B, 400 B, 4 KB and 100 KB, as many as make 40 to 400 MB (quick: left out).
 * Excluded: start-up and the compiling of hot code.
 * Command: npm run bench -- --only sizes
 */
import type { Load } from '../workload/load.ts'
import { crossed, type Experiment } from './experiment.ts'

const subjects = [
  'no-op-winston',
  'bare-winston',
  'logferry-winston',
  'logferry-winston-zstd',
  'axiom-winston-no-format',
  'otlp-large-queue',
]

export const sizes: Experiment = {
  name: 'sizes',
  question: 'How does the cost follow the size of an event?',
  rounds: { full: 3, quick: 1 },
  shows: [
    'mainCpuUs',
    'processCpuUs',
    'callNs',
    'eventsPerSecond',
    'lost',
    'duplicated',
    'peakRssMb',
    'loopDelayMaxMs',
    'wireMb',
  ],
  charts: ['mainCpuUs', 'eventsPerSecond'],
  cases(extent) {
    if (extent === 'quick') return []
    return crossed(subjects, {
      '100 B': size(100, 400_000),
      '400 B': size(400, 200_000),
      '4 KB': size(4096, 50_000),
      '100 KB': size(102_400, 4000),
    })
  },
}

function size(eventBytes: number, events: number): Partial<Load> {
  // As many bytes in a turn of the event loop, whatever the size.
  const perTurn = Math.max(1, Math.round(400_000 / eventBytes))
  return { eventBytes, events, warmUpEvents: events / 10, mode: { kind: 'chunks', perTurn } }
}
