import { shapeNames } from '../workload/shapes.ts'
import { figureOf, type Results, rowOf, valuesOf } from './results.ts'
import { summaryOf } from './statistics.ts'

/** A ratio within one run, and what it is to be. */
export interface Target {
  readonly name: string
  /** Undefined when what it takes was not measured in this run. */
  readonly value: number | undefined
  readonly bound: { readonly atMost: number } | { readonly atLeast: number }
  readonly unit: '×' | '%' | 'ms' | 'µs' | 'events'
  /** How the value is made from figures of the tables. */
  readonly from: string
}

/** Every target, with its value where this run has it. */
export function targetsOf(results: Results): Target[] {
  const median = (experiment: string, subject: string, figure: string, variant = '') =>
    figureOf(rowOf(results, experiment, subject, variant), figure)?.median
  const main = (subject: string) => median('throughput', subject, 'mainCpuUs')
  const speed = (subject: string) => median('throughput', subject, 'eventsPerSecond')
  const memory = (subject: string) => median('throughput', subject, 'peakRssMb')
  const piece = (name: string) => median('pieces', name, 'mainNs')
  const writeNs = less(piece('JSON.stringify + write into a block'), piece('make the event'))
  const writeUs = writeNs === undefined ? undefined : writeNs / 1000
  /** Of all shapes, the most that `ours` takes above the no-op transport, as a part of what the bare loop does. */
  const worstShape = (ours: string, bare: string, noOp: string) => {
    const above = (subject: string, shape: string) =>
      less(median('shapes', subject, 'mainCpuUs', shape), median('shapes', noOp, 'mainCpuUs', shape))
    const ratios = shapeNames
      .map(shape => over(above(ours, shape), above(bare, shape)))
      .filter(ratio => ratio !== undefined)
    return ratios.length === 0 ? undefined : Math.max(...ratios)
  }
  const cold = (subject: string, figure: string, variant = '') => median('cold-start', subject, figure, variant)

  return [
    {
      name: 'Winston, no format: CPU above no-op',
      value: over(less(main('logferry-winston'), main('no-op-winston')), writeUs),
      bound: { atMost: 1.5 },
      unit: '×',
      from: '(logferry-winston − no-op-winston) ÷ (stringify + write into a block)',
    },
    {
      name: 'Winston, format.json(): CPU above no-op',
      value: over(less(main('logferry-winston-json'), main('no-op-winston-json')), writeUs),
      bound: { atMost: 1 },
      unit: '×',
      from: '(logferry-winston-json − no-op-winston-json) ÷ (stringify + write into a block)',
    },
    {
      name: 'Winston, no format, the worst shape: CPU above no-op',
      value: worstShape('logferry-winston', 'bare-winston', 'no-op-winston'),
      bound: { atMost: 1 },
      unit: '×',
      from: '(logferry-winston − no-op-winston) ÷ (bare-winston − no-op-winston)',
    },
    {
      name: 'Winston, format.json(), the worst shape: CPU above no-op',
      value: worstShape('logferry-winston-json', 'bare-winston-json', 'no-op-winston-json'),
      bound: { atMost: 1.3 },
      unit: '×',
      from: 'the same behind format.json()',
    },
    {
      name: 'Winston, no format: events/s of the bare loop',
      value: over(speed('logferry-winston'), speed('bare-winston')),
      bound: { atLeast: 0.9 },
      unit: '×',
      from: 'logferry-winston ÷ bare-winston',
    },
    {
      name: 'Winston, format.json(): events/s of the bare loop',
      value: over(speed('logferry-winston-json'), speed('bare-winston-json')),
      bound: { atLeast: 0.9 },
      unit: '×',
      from: 'logferry-winston-json ÷ bare-winston-json',
    },
    {
      name: 'Winston, no format: events/s of the best lossless Winston peer',
      value: over(speed('logferry-winston'), bestLossless(results)),
      bound: { atLeast: 3 },
      unit: '×',
      from: 'logferry-winston ÷ the fastest of axiom-winston, axiom-winston-no-format, winston-http, winston-loki without loss',
    },
    {
      name: 'Winston, format.json(): events/s of the best lossless Winston peer',
      value: over(speed('logferry-winston-json'), bestLossless(results)),
      bound: { atLeast: 3 },
      unit: '×',
      from: 'logferry-winston-json ÷ the same',
    },
    {
      name: 'OTel processor: events/s of the bare loop as a processor',
      value: over(speed('logferry-otel-processor'), speed('bare-otel-processor')),
      bound: { atLeast: 0.95 },
      unit: '×',
      from: 'logferry-otel-processor ÷ bare-otel-processor',
    },
    {
      name: 'OTel processor: events/s of OTLP protobuf, large queue',
      value: over(speed('logferry-otel-processor'), speed('otlp-large-queue')),
      bound: { atLeast: 1.5 },
      unit: '×',
      from: 'logferry-otel-processor ÷ otlp-large-queue',
    },
    {
      name: 'OTel exporter, default settings, 10,000/s, answers after 100 ms: lost',
      value: rowMost(results, 'paced', 'logferry-otel-exporter', '10,000/s, 100 ms', 'lost'),
      bound: { atMost: 0 },
      unit: 'events',
      from: 'logferry-otel-exporter, the worst round',
    },
    {
      name: 'zstd: CPU of the main thread',
      value: per(less(main('logferry-winston-zstd'), main('logferry-winston')), main('logferry-winston')),
      bound: { atMost: 5 },
      unit: '%',
      from: '(logferry-winston-zstd − logferry-winston) ÷ logferry-winston',
    },
    {
      name: "durability: 'disk': the log call",
      value: scaled(
        less(median('durability', 'logferry-winston-disk', 'callNs'), median('durability', 'no-op-winston', 'callNs')),
        1 / 1000,
      ),
      bound: { atMost: 4 },
      unit: 'µs',
      from: 'logferry-winston-disk − no-op-winston',
    },
    {
      name: '5,000 events/s: share of a processor above no-op',
      value: scaled(
        less(
          median('paced', 'logferry-winston', 'coreShare', '5,000/s'),
          median('paced', 'no-op-winston', 'coreShare', '5,000/s'),
        ),
        100,
      ),
      bound: { atMost: 1.5 },
      unit: '%',
      from: 'logferry-winston − no-op-winston',
    },
    ...['400 B', '4 KB', '100 KB', '950 KB'].map(
      (size): Target => ({
        name: `Longest synchronous stretch, events of ${size}`,
        // What else the machine does can only make it longer: the round that was disturbed least is nearest to the truth.
        value: figureOf(rowOf(results, 'stretches', 'logferry-winston-zstd', size), 'longestTurnMs')?.least,
        bound: { atMost: 3 },
        unit: 'ms',
        from: 'logferry-winston-zstd, the best round: the longest turn of the event loop, log calls and garbage collection included',
      }),
    ),
    {
      name: 'Peak memory of the bare loop',
      value: over(memory('logferry-winston'), memory('bare-winston')),
      bound: { atMost: 1.15 },
      unit: '×',
      from: 'logferry-winston ÷ bare-winston',
    },
    {
      name: 'Peak memory, 10,000,000 events to 100,000',
      value: over(
        median('scaling', 'logferry-winston', 'peakRssMb', '10,000,000 events'),
        median('scaling', 'logferry-winston', 'peakRssMb', '100,000 events'),
      ),
      bound: { atMost: 1.15 },
      unit: '×',
      from: 'logferry-winston; flat, within what memory jitters',
    },
    {
      name: 'CPU per event, 10,000,000 events to 100,000',
      value: over(
        median('scaling', 'logferry-winston', 'mainCpuUs', '10,000,000 events'),
        median('scaling', 'logferry-winston', 'mainCpuUs', '100,000 events'),
      ),
      bound: { atMost: 1.05 },
      unit: '×',
      from: 'logferry-winston; must not grow, within what processors jitter',
    },
    {
      name: "import 'logferry/winston' above import 'winston'",
      value: cold('import logferry/winston', 'importMs', 'after winston'),
      bound: { atMost: 15 },
      unit: 'ms',
      from: 'the import of it in a process that has imported winston',
    },
    {
      name: 'First delivery: longest synchronous stretch',
      value: figureOf(rowOf(results, 'cold-start', 'first event, logferry/winston'), 'longestTurnMs')?.least,
      bound: { atMost: 25 },
      unit: 'ms',
      from: 'the longest turn of the event loop from the log call to the answer, in the best round',
    },
    {
      name: 'Ten log calls and the natural end, above the same without logferry',
      value: less(cold('ten log calls, logferry/winston', 'wallMs'), cold('ten log calls, no-op transport', 'wallMs')),
      bound: { atMost: 80 },
      unit: 'ms',
      from: 'whole processes, from start to end',
    },
  ]
}

export function isMet({ value, bound }: Target): boolean | undefined {
  if (value === undefined) return undefined
  return 'atMost' in bound ? value <= bound.atMost : value >= bound.atLeast
}

const winstonPeers = ['axiom-winston', 'axiom-winston-no-format', 'winston-http', 'winston-loki']

/** Without these, the best of the others says little. */
const strongestPeers = ['axiom-winston-no-format', 'winston-loki']

function bestLossless(results: Results): number | undefined {
  if (strongestPeers.some(name => figureOf(rowOf(results, 'throughput', name), 'eventsPerSecond') === undefined)) return
  const speeds = winstonPeers.flatMap(name => {
    const row = rowOf(results, 'throughput', name)
    const isLossless = valuesOf(row, 'lost').every(lost => lost === 0)
    const speed = figureOf(row, 'eventsPerSecond')?.median
    return isLossless && speed !== undefined ? [speed] : []
  })
  return speeds.length === 0 ? undefined : Math.max(...speeds)
}

function rowMost(results: Results, experiment: string, subject: string, variant: string, figure: string) {
  return summaryOf(valuesOf(rowOf(results, experiment, subject, variant), figure))?.most
}

function less(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b
}

function over(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b === 0 ? undefined : a / b
}

function per(a: number | undefined, b: number | undefined): number | undefined {
  return scaled(over(a, b), 100)
}

function scaled(a: number | undefined, factor: number): number | undefined {
  return a === undefined ? undefined : a * factor
}
