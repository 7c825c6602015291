/**
 * Question: does it matter how many loggers share a shipper?
 * Workload: 200,000 events of 400 bytes by 1, 2, 4 and 8 Winston loggers in turn (quick: left out).
 * Excluded: start-up and the compiling of hot code.
 * Command: npm run bench -- --only loggers
 */
import { crossed, type Experiment } from './experiment.ts'

export const loggers: Experiment = {
  name: 'loggers',
  question: 'Does it matter how many loggers share a shipper?',
  rounds: { full: 3, quick: 1 },
  shows: ['mainCpuUs', 'callNs', 'eventsPerSecond', 'lost', 'duplicated', 'peakRssMb', 'requests'],
  charts: ['mainCpuUs'],
  cases(extent) {
    if (extent === 'quick') return []
    const counts = [1, 2, 4, 8].map(loggers => [loggers === 1 ? '1 logger' : `${loggers} loggers`, { loggers }])
    return crossed(['no-op-winston', 'bare-winston', 'logferry-winston'], Object.fromEntries(counts))
  },
}
