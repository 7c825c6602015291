/**
 * Question: what does each option that shapes, guards or counts events cost when it is on?
 * Workload: 100,000 events of 400 bytes (quick: left out). The redacted names are in no event, except in the line that
 *   says so. Behind `collapse` and `hold` most events are not shipped, which is their purpose; every other line ships all.
 * Excluded: start-up and the compiling of hot code. Making the event is in every line.
 * Command: npm run bench -- --only options
 */
import { type Experiment, shipping } from './experiment.ts'

const subjects = [
  'logferry-core',
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

export const options: Experiment = {
  name: 'options',
  question: 'What does each option that shapes, guards or counts events cost when it is on?',
  rounds: { full: 5, quick: 1 },
  shows: ['mainCpuUs', 'callNs'],
  charts: ['mainCpuUs'],
  cases: extent => (extent === 'quick' ? [] : subjects.map(name => shipping(name, { events: 100_000 }))),
}
