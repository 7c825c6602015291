/**
 * Question: what does it cost to keep events on disk, and to keep to a license?
 * Workload: 100,000 events of 400 bytes (quick: 60,000). The spool's folder is under benchmarks/results. The license allows
 *   more than is used: it is the keeping of it that costs, not the waiting.
 * Excluded: start-up and the compiling of hot code.
 * Command: npm run bench -- --only durability
 */
import { type Experiment, shipping } from './experiment.ts'

const subjects = [
  'no-op-winston',
  'logferry-winston',
  'logferry-winston-limits',
  'logferry-winston-spool',
  'logferry-winston-disk',
]

export const durability: Experiment = {
  name: 'durability',
  question: 'What does it cost to keep events on disk, and to keep to a license?',
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
  ],
  charts: ['callNs'],
  cases: extent => subjects.map(name => shipping(name, { events: extent === 'quick' ? 60_000 : 100_000 })),
}
