import { withoutDestination } from '../spool/file-names.ts'
import type { ProcessContents, SpoolContents } from '../spool/inspect.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import type { Command } from './command.ts'
import { print } from './print.ts'
import {
  directoryOf,
  inUse,
  leftBehind,
  lookInto,
  maxPathChars,
  spoolDirectory,
  sum,
  unreadableNotes,
} from './spool.ts'

export const command: Command = {
  description: `Lists the events that wait in a spool, with one line for each process. The state is 'in use' while the
process is running, and 'left behind' once it has ended. Changes nothing.

Exits with 0, or with 1 if the directory cannot be read.`,
  ...spoolDirectory,
  options: {
    ...spoolDirectory.options,
    json: { description: 'print JSON' },
  },
  async run(given) {
    const directory = directoryOf(given)
    const contents = await lookInto(directory)
    if (contents === undefined) return 1
    print(given.json === true ? inJson(directory, contents) : inWords(directory, contents))
    return 0
  },
}

function inJson(directory: string, contents: SpoolContents): string {
  const totals = { leftBehind: sum(leftBehind(contents)), inUse: sum(inUse(contents)) }
  return escapeJson(JSON.stringify({ directory, ...contents, ...totals }, null, 2))
}

function inWords(directory: string, contents: SpoolContents): string {
  const shown = [...leftBehind(contents), ...inUse(contents)]
  const { damaged } = sum(shown)
  const left = leftBehind(contents).length
  const paragraphs = [
    shown.length === 0 ? `No events wait in ${toShortLine(directory, undefined, maxPathChars)}.` : table(shown),
    damaged > 0 &&
      `${counted(damaged, 'record is', 'records are')} damaged or missing. \`logferry spool verify\` names each.`,
    contents.rejected > 0 && `${counted(contents.rejected, 'refused event')} in rejected.ndjson.`,
    contents.resending > 0 && resendingNotice(contents.resending),
    unreadableNotes(contents).join('\n'),
    left > 0 &&
      'The next process that ships to the same service delivers what is left behind, or `logferry spool send` does.',
  ]
  return paragraphs.filter(Boolean).join('\n\n')
}

function resendingNotice(count: number): string {
  const are = counted(count, 'of them is', 'of them are')
  return `${are} in rejected.resend: \`logferry spool resend-rejected\` is running, or was interrupted. Run it again.`
}

const heads = [
  'directory',
  'state',
  'events',
  'segments',
  'bytes',
  'damaged',
  'oldest',
  'newest',
  'service',
  'datasets',
] as const
/** Maximum number of datasets in one line, and maximum length of their names; `--json` lists every dataset. */
const maxDatasetsShown = 20
const maxNamesChars = 1000
const numeric: ReadonlySet<string> = new Set(['events', 'segments', 'bytes', 'damaged'])

function table(processes: readonly ProcessContents[]): string {
  const rows = [[...heads], ...processes.map(row), row({ name: 'total', ...sum(processes) })]
  const widths = heads.map((_, column) => rows.reduce((width, cells) => Math.max(width, cells[column]?.length ?? 0), 0))
  return rows
    .map(cells => cells.map((cell, column) => padded(cell, column, widths)).join('  '))
    .map(trimmed)
    .join('\n')
}

function row(process: Partial<ProcessContents>): string[] {
  const { name = '', isInUse, events, segments, bytes, damaged, oldest = '', newest = '' } = process
  const { destination = '', datasets = {} } = process
  const state = isInUse === undefined ? '' : isInUse ? 'in use' : 'left behind'
  const counts = [events, segments, bytes, damaged].map((count = 0) => count.toLocaleString('en'))
  return [
    withoutDestination(name),
    state,
    ...counts,
    oldest,
    newest,
    toShortLine(destination),
    someOf(Object.keys(datasets)),
  ]
}

/** Shortens the list of names, because a spool may hold any number of datasets. */
function someOf(datasets: readonly string[]): string {
  const names = datasets.slice(0, maxDatasetsShown).map(name => toShortLine(name))
  const shown = toShortLine(names.join(', '), undefined, maxNamesChars)
  return datasets.length > maxDatasetsShown
    ? `${shown} and ${counted(datasets.length - maxDatasetsShown, 'other')}`
    : shown
}

function padded(cell: string, column: number, widths: readonly number[]): string {
  const width = widths[column] ?? 0
  return numeric.has(heads[column] ?? '') ? cell.padStart(width) : cell.padEnd(width)
}

function trimmed(line: string): string {
  return line.trimEnd()
}
