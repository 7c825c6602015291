/**
 * Question: what does each option that shapes, guards or counts events cost when it is on?
 * Workload: 100,000 events of 400 bytes (quick: left out). The redacted names are in no event, except in the line that
 *   says so. Behind `collapse` and `hold` most events are not shipped, which is their purpose; every other line ships all.
 *   Then, with everything off, with the defaults and with everything on: events of the ten other shapes, 200,000 of each
 *   after as many that are not measured (10 KB: 20,000 after 4000).
 * Excluded: start-up and the compiling of hot code. Making the event is in every line.
 * Command: npm run bench -- --only options
 */
import type { Load } from '../workload/load.ts'
import { type ShapeName, shapeNames } from '../workload/shapes.ts'
import { crossed, type Experiment, shipping } from './experiment.ts'
import { loadOf } from './shapes.ts'

/** What this experiment alone measures. */
export const withOptions: readonly string[] = [
  'logferry-core-no-usage',
  'logferry-core-redact',
  'logferry-core-redact-match',
  'logferry-core-redact-text',
  'logferry-core-context',
  'logferry-core-transform',
  'logferry-core-sample',
  'logferry-core-collapse',
  'logferry-core-hold',
  'logferry-core-fields',
  'logferry-core-identify',
  'logferry-core-all',
]

const offDefaultAndOn = ['logferry-core-no-usage', 'logferry-core', 'logferry-core-all']

export const options: Experiment = {
  name: 'options',
  question: 'What does each option that shapes, guards or counts events cost when it is on?',
  rounds: { full: 5, quick: 1 },
  shows: ['mainCpuUs', 'callNs'],
  charts: ['mainCpuUs'],
  cases(extent) {
    if (extent === 'quick') return []
    return [
      ...['logferry-core', ...withOptions].map(name => shipping(name, { events: 100_000 })),
      ...crossed(offDefaultAndOn, Object.fromEntries(shapeNames.map(name => [name, warmLoadOf(name)]))),
    ]
  },
}

/** Counts of log statements cost more for the first 200,000 events, which are looked at more closely. */
function warmLoadOf(shape: ShapeName): Partial<Load> {
  return { events: 200_000, warmUpEvents: 200_000, ...(shape === '10 KB' ? loadOf(shape) : { shape }) }
}
