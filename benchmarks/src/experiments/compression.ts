/**
 * Question: what does compression cost, and what does it save, where the text compresses well and where it does not?
 * Workload: events of 400 B and of 4 KB, of prose-like and of random text (quick: left out; throughput has one pair).
 * Excluded: start-up and the compiling of hot code; decoding, which the receiver does when the run is over.
 * Command: npm run bench -- --only compression
 */
import { crossed, type Experiment } from './experiment.ts'

const subjects = [
  'bare-winston',
  'bare-winston-zstd',
  'logferry-winston',
  'logferry-winston-zstd',
  'logferry-winston-gzip',
]

const large = { eventBytes: 4096, events: 50_000, warmUpEvents: 5000, mode: { kind: 'chunks', perTurn: 100 } } as const

export const compression: Experiment = {
  name: 'compression',
  question: 'What does compression cost and save?',
  rounds: { full: 3, quick: 1 },
  shows: [
    'mainCpuUs',
    'processCpuUs',
    'eventsPerSecond',
    'wireMb',
    'lost',
    'duplicated',
    'peakRssMb',
    'loopDelayMaxMs',
  ],
  charts: ['processCpuUs', 'wireMb'],
  cases(extent) {
    if (extent === 'quick') return []
    return crossed(subjects, {
      '400 B': {},
      '400 B, random': { text: 'incompressible' },
      '4 KB': large,
      '4 KB, random': { ...large, text: 'incompressible' },
    })
  },
}
