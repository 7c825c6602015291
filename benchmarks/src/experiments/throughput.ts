/**
 * Question: what does shipping an event cost, and how fast does it go, by each way in, against other libraries, against
 *   logging that ships nothing, and against the least that shipping takes?
 * Workload: 200,000 events of 400 bytes (quick: 60,000), 1,000 in a turn of the event loop, as fast as it goes; answers at
 *   once; 20,000 events of warm-up before.
 * Excluded: start-up and the compiling of hot code (see cold-start); the receiver's work, which is another process's.
 * Command: npm run bench -- --only throughput
 */
import { setUps } from '../set-ups/catalogue.ts'
import { type Experiment, shipping } from './experiment.ts'
import { withOptions } from './options.ts'

const telling = [
  'no-op-winston',
  'no-op-winston-json',
  'no-op-otel',
  'bare',
  'bare-winston',
  'bare-winston-zstd',
  'bare-winston-json',
  'bare-otel-processor',
  'logferry-core',
  'logferry-winston',
  'logferry-winston-zstd',
  'logferry-winston-json',
  'logferry-otel-processor',
  'logferry-otel-exporter',
  'axiom-winston-no-format',
  'winston-loki',
  'otlp',
  'otlp-large-queue',
]

export const throughput: Experiment = {
  name: 'throughput',
  question: 'What does an event cost, and how fast do events arrive?',
  rounds: { full: 5, quick: 2 },
  shows: [
    'mainCpuUs',
    'processCpuUs',
    'callNs',
    'eventsPerSecond',
    'lost',
    'duplicated',
    'peakRssMb',
    'loopDelayP99Ms',
    'loopDelayMaxMs',
    'wireMb',
    'requests',
  ],
  charts: ['mainCpuUs', 'eventsPerSecond', 'peakRssMb'],
  cases(extent) {
    if (extent === 'quick') return telling.map(name => shipping(name, { events: 60_000 }))
    // Which need options of their own and have experiments of their own: some of them ship little on purpose.
    const others = [
      ...withOptions,
      'logferry-winston-limits',
      'logferry-winston-spool',
      'logferry-winston-disk',
      'logferry-winston-gzip',
    ]
    return setUps.filter(({ name }) => !others.includes(name)).map(({ name }) => shipping(name))
  },
}
