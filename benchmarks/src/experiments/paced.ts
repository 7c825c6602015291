/**
 * Question: at a rate that a busy server has, what part of a processor does shipping take, how late is the event loop, and is
 *   everything delivered when the service answers late?
 * Workload: 10,000 events a second for 5 seconds (quick: 2), with answers at once, after 100 ms and after 1 s; and 5,000 a
 *   second with answers at once.
 * Excluded: start-up and the compiling of hot code. The groups' timers are in every figure, those of no-op too.
 * Command: npm run bench -- --only paced
 */
import type { Load } from '../workload/load.ts'
import { crossed, type Experiment } from './experiment.ts'

const subjects = [
  'no-op-winston',
  'no-op-otel',
  'bare-winston',
  'logferry-winston',
  'logferry-winston-zstd',
  'logferry-otel-processor',
  'logferry-otel-exporter',
  'axiom-winston-no-format',
  'winston-loki',
  'otlp',
  'otlp-large-queue',
]

export const paced: Experiment = {
  name: 'paced',
  question:
    'At a steady rate, what part of a processor does logging take, and is everything delivered if answers are late?',
  rounds: { full: 3, quick: 1 },
  shows: [
    'coreShare',
    'mainCpuUs',
    'callNs',
    'lost',
    'duplicated',
    'loopDelayP99Ms',
    'loopDelayMaxMs',
    'peakRssMb',
    'requests',
  ],
  charts: ['coreShare', 'lost'],
  cases(extent) {
    if (extent === 'quick') {
      return [
        ...crossed(['no-op-winston', 'logferry-winston'], { '5,000/s': rate(5000, 0, 2) }),
        ...crossed(['logferry-otel-exporter', 'otlp'], { '10,000/s, 100 ms': rate(10_000, 100, 2) }),
      ]
    }
    return crossed(subjects, {
      '5,000/s': rate(5000, 0, 5),
      '10,000/s': rate(10_000, 0, 5),
      '10,000/s, 100 ms': rate(10_000, 100, 5),
      '10,000/s, 1 s': rate(10_000, 1000, 5),
    })
  },
}

function rate(perSecond: number, answerDelayMs: number, seconds: number): Partial<Load> {
  return { mode: { kind: 'paced', perSecond }, events: perSecond * seconds, answerDelayMs }
}
