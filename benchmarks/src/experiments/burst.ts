/**
 * Question: what if everything is logged in one turn of the event loop, so that nothing can leave before the last log call?
 * Workload: 100,000 events of 400 bytes in one loop (quick: left out).
 * Excluded: start-up and the compiling of hot code.
 * Command: npm run bench -- --only burst
 */
import { type Experiment, shipping } from './experiment.ts'

const subjects = [
  'no-op-winston',
  'bare-winston',
  'bare-otel-processor',
  'logferry-winston',
  'logferry-winston-zstd',
  'logferry-otel-processor',
  'logferry-otel-exporter',
  'axiom-winston-no-format',
  'winston-loki',
  'otlp',
  'otlp-large-queue',
]

export const burst: Experiment = {
  name: 'burst',
  question: 'What if everything is logged in one turn of the event loop?',
  rounds: { full: 3, quick: 1 },
  shows: ['mainCpuUs', 'callNs', 'eventsPerSecond', 'lost', 'duplicated', 'peakRssMb', 'loopDelayMaxMs', 'requests'],
  charts: ['eventsPerSecond', 'peakRssMb'],
  cases: extent =>
    extent === 'quick' ? [] : subjects.map(name => shipping(name, { events: 100_000, mode: { kind: 'burst' } })),
}
