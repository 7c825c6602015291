/** The tables of events, metrics, counters, reasons and codes, made of the names and docstrings in the source. */
import { publishedNames } from '../src/accounting/diagnostics.ts'
import { metricDefinitions } from '../src/shipper/metric-definitions.ts'
import { sourceFile } from './docstrings.ts'

/** The tables, by the name that stands in the marker of each. */
export const sourceTables: Readonly<Record<string, () => string>> = {
  'diagnostic events': eventTable,
  'fields of diagnostic events': eventFieldTable,
  metrics: metricTable,
  counters: () => memberTable('shipper/shipper-stats.ts', 'ShipperStats', 'counter'),
  'counters of a dataset': () => memberTable('accounting/dataset-totals.ts', 'DatasetStats', 'counter'),
  'figures of the spool': () => memberTable('shipper/spool-coordinator.ts', 'SpoolStats', 'figure'),
  'figures of the limits': () => memberTable('org/limits.ts', 'LimitsStats', 'figure'),
  'drop reasons': () => memberTable('accounting/drop-reasons.ts', 'DropReason', 'reason'),
  'warning codes': warningTable,
  'emulator options': () => optionTable('emulator/options.ts', 'EmulatorOptions'),
  'error codes of the organization': () => memberTable('org/org-error.ts', 'OrgErrorCode', 'code'),
}

/** Pages that explain options, by the name of the option. A table that names one of them links to its page. */
const pagesOfOptions: ReadonlyMap<string, string> = new Map([
  ['collapse', 'noise.md'],
  ['hold', 'noise.md#events-that-matter-only-after-an-error'],
  ['limits', 'license-limits.md'],
  ["limits.onBudget: 'shed'", 'license-limits.md#monthly-ingest'],
  ['redact', 'redaction.md'],
  ['redact.censor', 'redaction.md#censors'],
  ['sample', 'shaping.md#sample'],
  ['spool', 'spool.md'],
  ['transform', 'shaping.md#transform'],
])

const diagnostics = source('accounting/diagnostics.ts')

function source(path: string) {
  return sourceFile(new URL(`../src/${path}`, import.meta.url))
}

function memberTable(path: string, type: string, head: string): string {
  const rows = source(path).membersOf(type)
  return table(
    [head, 'meaning'],
    rows.map(({ name, text }) => [code(name), cellOf(text)]),
  )
}

function optionTable(path: string, type: string): string {
  const rows = source(path).membersOf(type)
  return table(
    ['option', 'default', 'meaning'],
    rows.map(({ name, defaultText, text }) => [code(name), defaultText, cellOf(text)]),
  )
}

function eventTable(): string {
  const channels = new Set<string>(publishedNames)
  const rows = diagnostics.listenersOf('DiagnosticListeners').map(({ name, parameter }) => {
    const channel = channels.has(name) ? code(`logferry:${name}`) : 'none'
    return [code(name), cellOf(parameter.file.textOf(parameter.name)), channel]
  })
  return table(['name', 'reports', 'channel'], rows)
}

function eventFieldTable(): string {
  const rows = diagnostics.listenersOf('DiagnosticListeners').flatMap(({ name, parameter }) => {
    return parameter.file.membersOf(parameter.name).map(field => [code(name), code(field.name), cellOf(field.text)])
  })
  return table(['event', 'field', 'meaning'], rows)
}

function metricTable(): string {
  const members = source('shipper/metric-definitions.ts').membersOf('metricDefinitions')
  const rows = members.map(({ name: member, text }) => {
    const { name, kind, unit } = metricDefinitions[member as keyof typeof metricDefinitions]
    return [code(name), `${kind}, ${code(unit)}`, cellOf(text)]
  })
  return table(['metric', 'kind, unit', 'value'], rows)
}

/** The section of each code has its whole docstring, and more. */
function warningTable(): string {
  const rows = source('errors.ts')
    .membersOf('ErrorCode')
    .map(({ name, text }) => [`[${code(name)}](#${name.toLowerCase()})`, cellOf(firstSentence(text))])
  return table(['code', 'meaning'], rows)
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`
  return [line(heads), `|${'---|'.repeat(heads.length)}\n`, ...rows.map(line)].join('')
}

function code(name: string): string {
  return `\`${name}\``
}

function firstSentence(text: string): string {
  return /^.*?\.(?= [A-Z]|$)/.exec(text)?.[0] ?? text
}

/** Returns a text as the cell of a table: cells begin with a small letter, and end without a period. */
function cellOf(text: string): string {
  const first =
    /^[A-Z](?=[a-z]* )/.test(text) && !text.startsWith('OpenTelemetry') ? (text[0] ?? '').toLowerCase() : text[0]
  return withLinks(`${first}${text.slice(1)}`.replace(/\.$/, '').replaceAll('|', '\\|'))
}

function withLinks(text: string): string {
  return text.replace(/`([^`]+)`/g, (span, name: string) => {
    const page = pagesOfOptions.get(name)
    return page === undefined ? span : `[${span}](${page})`
  })
}
