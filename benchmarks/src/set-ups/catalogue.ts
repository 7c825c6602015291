/**
 * Every set-up that is measured. Peers are set up as their READMEs show them; where one has no batching by default, it gets
 * the batches it can do.
 */
import type { Options } from './logferry-shipper.ts'
import type { SetUp } from './set-up.ts'

const floor: readonly SetUp[] = [
  {
    name: 'no-op-winston',
    family: 'floor',
    what: 'Winston without a format, to a transport that does nothing',
    open: async target => (await import('./no-op-winston.ts')).open(target, await noFormat()),
  },
  {
    name: 'no-op-winston-json',
    family: 'floor',
    what: 'Winston with format.json(), to a transport that does nothing',
    open: async target => (await import('./no-op-winston.ts')).open(target, await jsonFormat()),
  },
  {
    name: 'no-op-otel',
    family: 'floor',
    what: 'the OpenTelemetry SDK, to a processor that does nothing',
    open: async target => (await import('./no-op-otel.ts')).open(target),
  },
]

const limit: readonly SetUp[] = [
  {
    name: 'bare',
    family: 'limit',
    what: 'the bare loop: stringify into a block, post with undici',
    open: async target => (await import('./bare.ts')).open(target, false),
  },
  {
    name: 'bare-zstd',
    family: 'limit',
    what: 'the bare loop, zstd 1',
    open: async target => (await import('./bare.ts')).open(target, true),
  },
  {
    name: 'bare-winston',
    family: 'limit',
    what: 'the bare loop behind Winston without a format',
    open: async target => (await import('./bare-winston.ts')).open(target, await noFormat()),
  },
  {
    name: 'bare-winston-zstd',
    family: 'limit',
    what: 'the same, zstd 1',
    open: async target => (await import('./bare-winston.ts')).open(target, await noFormat(), { compresses: true }),
  },
  {
    name: 'bare-winston-json',
    family: 'limit',
    what: 'the bare loop behind Winston with format.json()',
    open: async target => (await import('./bare-winston.ts')).open(target, await jsonFormat()),
  },
  {
    name: 'bare-winston-json-line',
    family: 'limit',
    what: "the same, posting the logger's line, whatever that leaves out",
    open: async target => (await import('./bare-winston.ts')).open(target, await jsonFormat(), { postsLine: true }),
  },
  {
    name: 'bare-otel-processor',
    family: 'limit',
    what: 'the bare loop as an OpenTelemetry processor',
    open: async target => (await import('./bare-otel.ts')).openProcessor(target),
  },
  {
    name: 'bare-otel-batch',
    family: 'limit',
    what: 'the bare loop behind BatchLogRecordProcessor, default settings',
    open: async target => (await import('./bare-otel.ts')).openBatch(target),
  },
]

const plain: Options = () => ({ compression: 'none' })
const plus =
  (options: Record<string, unknown>): Options =>
  () => ({ compression: 'none', ...options })
const zstd: Options = () => ({ compression: 'zstd' })
const gzip: Options = () => ({ compression: 'gzip' })
const limits: Options = () => ({ compression: 'none', limits: { orgId: 'benchmark', accessToken: 'benchmark' } })
const spool: Options = ({ folder }) => ({ compression: 'none', spool: { directory: folder } })
const disk: Options = target => ({ ...spool(target), durability: 'disk' })

/** Five patterns of each kind that `redact` knows. No event of the benchmark has such a name. */
const patterns = ['password', '**.token', 'headers.*', '*_secret', 'cards[*].number']
/** A trace for ten events in a row. */
const traced = () => {
  let n = 0
  return () => ({
    trace_id: Math.trunc(n++ / 10)
      .toString(16)
      .padStart(32, '0'),
  })
}
const everything = {
  redact: patterns,
  context: () => ({ tenant: 'acme' }),
  transform: (event: Record<string, unknown>) => event,
  sample: { debug: 0.5 },
  fields: { max: 2000 },
  identify: true,
}

const core = (name: string, what: string, options: Options) =>
  logferry(name, what, async target => (await import('./logferry-core.ts')).open(target, options))
const winston = (name: string, what: string, options: Options) =>
  logferry(name, what, async target => (await import('./logferry-winston.ts')).open(target, options, await noFormat()))
const winstonJson = (name: string, what: string, options: Options) =>
  logferry(name, what, async target =>
    (await import('./logferry-winston.ts')).open(target, options, await jsonFormat()),
  )
const processor = (name: string, what: string, options: Options) =>
  logferry(name, what, async target => (await import('./logferry-otel.ts')).openProcessor(target, options))
const exporter = (name: string, what: string, options: Options) =>
  logferry(name, what, async target => (await import('./logferry-otel.ts')).openExporter(target, options))

const ours: readonly SetUp[] = [
  core('core', 'the core alone, shipper.ship()', plain),
  core('core-zstd', 'the core alone, zstd', zstd),
  core('core-no-usage', 'the core alone, countUsage: false', plus({ countUsage: false })),
  core('core-redact', 'redact: five patterns, none of which matches', plus({ redact: patterns })),
  core('core-redact-match', 'redact: two names that each event has', plus({ redact: ['user.id', 'request.id'] })),
  core('core-redact-text', 'redactText: one pattern', plus({ redactText: [/\b\d{4}-\d{4}-\d{4}-\d{4}\b/g] })),
  core('core-context', 'context: one field', plus({ context: everything.context })),
  core('core-transform', 'transform: returns the event', plus({ transform: everything.transform })),
  core('core-sample', 'sample: a part of the debug events, of which there are none', plus({ sample: { debug: 0.5 } })),
  core('core-collapse', 'collapse: each event repeats the one before', plus({ collapse: { windowMs: 1000 } })),
  core('core-hold', 'hold: ten events for each trace', () => ({
    compression: 'none',
    context: traced(),
    hold: { below: 'warn' },
  })),
  core('core-fields', 'fields: a maximum that is not reached', plus({ fields: everything.fields })),
  core('core-identify', 'identify: true', plus({ identify: true })),
  core('core-all', 'redact, context, transform, sample, fields and identify together', plus(everything)),
  winston('winston', 'Winston without a format', plain),
  winston('winston-zstd', 'Winston without a format, zstd', zstd),
  winston('winston-gzip', 'Winston without a format, gzip', gzip),
  winstonJson('winston-json', 'Winston with format.json()', plain),
  winstonJson('winston-json-zstd', 'Winston with format.json(), zstd', zstd),
  processor('otel-processor', 'OpenTelemetry processor', plain),
  processor('otel-processor-zstd', 'OpenTelemetry processor, zstd', zstd),
  exporter('otel-exporter', 'OpenTelemetry exporter behind BatchLogRecordProcessor, default settings', plain),
  exporter('otel-exporter-zstd', 'the same, zstd', zstd),
  winston('winston-limits', 'Winston without a format, license limits on', limits),
  winston('winston-spool', 'Winston without a format, with a spool', spool),
  winston('winston-disk', "Winston without a format, durability: 'disk'", disk),
]

/** Batches of these libraries leave after a second at the latest; the last of them may still be on its way then. */
const lingersMs = 1500

const peers: readonly SetUp[] = [
  {
    name: 'axiom-winston',
    family: 'peer',
    what: '@axiomhq/winston as in its README, with format.json()',
    lingersMs,
    open: async target => (await import('./axiom-winston.ts')).open(target, await jsonFormat()),
  },
  {
    name: 'axiom-winston-no-format',
    family: 'peer',
    what: '@axiomhq/winston, without a format',
    lingersMs,
    open: async target => (await import('./axiom-winston.ts')).open(target, await noFormat()),
  },
  {
    name: 'winston-http',
    family: 'peer',
    what: "Winston's own Http transport, batches of 1,000, with format.json()",
    lingersMs,
    open: async target => (await import('./winston-http.ts')).open(target),
  },
  {
    name: 'winston-loki',
    family: 'peer',
    what: 'winston-loki, a batch a second, with format.json()',
    lingersMs,
    open: async target => (await import('./winston-loki.ts')).open(target),
  },
  {
    name: 'otlp',
    family: 'peer',
    what: 'OTLP/HTTP protobuf exporter behind BatchLogRecordProcessor, default settings',
    open: async target => (await import('./otlp.ts')).open(target, { hasLargeQueue: false }),
  },
  {
    name: 'otlp-large-queue',
    family: 'peer',
    what: 'the same, with a queue as large as the run',
    open: async target => (await import('./otlp.ts')).open(target, { hasLargeQueue: true }),
  },
  {
    name: 'pino-axiom',
    family: 'peer',
    what: 'pino, with @axiomhq/pino in a worker thread',
    lingersMs,
    open: async target => (await import('./pino-axiom.ts')).open(target),
  },
]

export const setUps: readonly SetUp[] = [...floor, ...limit, ...ours, ...peers]

export function setUpOf(name: string): SetUp {
  const found = setUps.find(setUp => setUp.name === name)
  if (found === undefined) throw new Error(`there is no set-up '${name}'`)
  return found
}

function logferry(name: string, what: string, open: SetUp['open']): SetUp {
  return { name: `logferry-${name}`, family: 'ours', what, open }
}

async function noFormat() {
  return (await import('./winston-logger.ts')).noFormat
}

async function jsonFormat() {
  return (await import('winston')).default.format.json()
}
