/**
 * Question: does an event cost more, or the process grow, when there are many of them?
 * Workload: 10,000, 100,000, 1,000,000 and 10,000,000 events of 400 bytes (quick: up to 300,000).
 * Excluded: start-up and the compiling of hot code: the warm-up is the same for all.
 * Command: npm run bench -- --only scaling
 */
import { crossed, type Experiment } from './experiment.ts'

const subjects = ['no-op-winston', 'bare-winston', 'logferry-winston', 'logferry-winston-zstd']

export const scaling: Experiment = {
  name: 'scaling',
  question: 'Does an event cost more, or the process grow, when there are many of them?',
  rounds: { full: 3, quick: 1 },
  shows: ['mainCpuUs', 'processCpuUs', 'eventsPerSecond', 'lost', 'duplicated', 'peakRssMb', 'loopDelayMaxMs'],
  charts: ['mainCpuUs', 'peakRssMb'],
  cases(extent) {
    if (extent === 'quick') return crossed(['logferry-winston'], counts(10_000, 300_000))
    return crossed(subjects, counts(10_000, 100_000, 1_000_000, 10_000_000))
  },
}

function counts(...numbers: number[]): Record<string, { events: number }> {
  return Object.fromEntries(numbers.map(events => [`${events.toLocaleString('en')} events`, { events }]))
}
