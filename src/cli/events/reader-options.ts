/** What `tail`, `logs` and `spool show` share: which events to print, from where, and how. */
import type { QueryReading } from '../../dev/protocol.ts'
import { isDatasetName } from '../../options/dataset-name.ts'
import { toMessageLine } from '../../text/short-line.ts'
import { SystemDate, systemTimeMs } from '../../time.ts'
import { type ArgumentForm, type Command, type Given, Misuse } from '../command.ts'
import { printError, printLines, type StyledLine, whenTaken } from '../print.ts'
import { explainUnreadable, spoolOf } from '../spool.ts'
import { type ColorChoice, colorChoices, hasColors } from './color-choice.ts'
import { DevClient, devAddressOf, ServiceTrouble } from './dev-client.ts'
import { HumanFormat } from './human.ts'
import { toJsonLine } from './json.ts'
import { toLogfmt } from './logfmt.ts'
import type { FoundEvents, Search } from './search.ts'
import type { ShownEvent } from './shown-event.ts'
import { timeOption } from './time-argument.ts'

const maxLimit = 1_000_000
const usualLimit = 1000
const noMatch = 3
const maxNotes = 20

/** Which of the events that are there already are printed. */
export const searchOptions = {
  since: { value: 'time', description: 'print later events only: 10m (ago), 1h30m, 10:42, 2026-11-21T10:42:07Z' },
  until: { value: 'time', description: 'print earlier events only' },
  limit: { value: 'number', description: `print the newest events only, so many (default: ${usualLimit})` },
  'exit-code': { description: `exit with ${noMatch} if no event matches` },
} as const satisfies Command['options']

/** Where the events come from. */
export const sourceOptions = {
  url: {
    value: 'address',
    description: 'address of the dev service (default: LOGFERRY_URL, then http://127.0.0.1:4800)',
  },
  'allow-insecure': { description: 'allow plain http to another host: the token can be read on the way' },
  spool: { value: 'directory', description: 'read a spool in place of a service', completes: 'directories' },
  dataset: { value: 'name', description: 'print the events of this dataset only' },
} as const satisfies Command['options']

export const formatOptions = {
  json: { description: 'print each event as it was sent, one line of JSON each' },
  meta: { description: 'with --json: wrap each event in its dataset, its source and the time of its arrival' },
  logfmt: { description: 'print each event as one line of logfmt, with up to 1,000 fields' },
  fields: { value: 'a,b.c', description: 'print these fields only' },
  repeats: { description: 'print each repeat, in place of one line with ×12' },
  color: {
    value: 'when',
    description: 'colors: on terminals unless NO_COLOR is set (auto), always or never',
    choices: colorChoices,
  },
  utc: { description: 'print times in UTC, and read those of other options so' },
} as const satisfies Command['options']

export const queryArgument = {
  name: 'query',
  description: 'a query, as on the page of logferry dev',
  isVariadic: true,
} as const satisfies ArgumentForm

const queryRemedy = "Put it into the query, such as 'level:>=error' or '\"timed out\" http.status:504'."

/** Options for which a query stands here. */
const optionsOfQueries = Object.fromEntries(
  ['--level', '--severity', '--grep', '--filter', '--query', '-q'].map(flag => [flag, queryRemedy]),
)

const limitRemedy = 'The number of events is --limit, such as --limit 50.'

/** What users of `tail`, `docker logs` and `journalctl` try, of commands that end. */
export const foreignSearchOptions: Readonly<Record<string, string>> = {
  ...optionsOfQueries,
  '-n': limitRemedy,
  '--last': limitRemedy,
  '--lines': limitRemedy,
  '--tail': limitRemedy,
  '-f': "To follow the events that arrive, use 'logferry tail'.",
  '--follow': "To follow the events that arrive, use 'logferry tail'.",
}

const lastRemedy = 'The number of earlier events is --last, such as --last 20.'

/** The same of the command that follows. */
export const foreignFollowOptions: Readonly<Record<string, string>> = {
  ...optionsOfQueries,
  '-n': lastRemedy,
  '--limit': lastRemedy,
  '--lines': lastRemedy,
  '-f': 'This command always follows.',
  '--follow': 'This command always follows.',
  '--since': "For the events of a time, use 'logferry logs'.",
  '--until': "For the events of a time, use 'logferry logs'.",
}

/** Where a command reads events: a dev service, or the directory of a spool. */
export type Source = { readonly client: DevClient } | { readonly directory: string }

/**
 * Returns the source that the options name.
 *
 * @throws Misuse
 */
export function sourceOf(given: Given): Source {
  const directory = spoolOf(given)
  if (directory === undefined) return { client: new DevClient(devAddressOf(given)) }
  if (given.url !== undefined) throw new Misuse('--url and --spool exclude each other. Give one of them.')
  return { directory }
}

/** Prints the reason why a source cannot be read. Returns the exit code. Throws any other error. */
export function explainTrouble(error: unknown, given: Given): 1 {
  if (!(error instanceof ServiceTrouble)) return explainUnreadable(error, String(given.spool))
  printError(`logferry: ${toMessageLine(error.message)}`)
  return 1
}

/** Prints events to standard output, some of them in each step. */
export type PrintEvents = (events: readonly ShownEvent[]) => Iterable<void>

/**
 * Returns the function that prints events in the format that the options name.
 *
 * @throws Misuse
 */
export function printerOf(given: Given): PrintEvents {
  const { json, meta, logfmt, repeats, utc } = given
  if (json === true && logfmt === true) throw new Misuse('--json and --logfmt exclude each other. Give one of them.')
  if (meta === true && json !== true) throw new Misuse('--meta has an effect with --json only. Give both.')
  const fields = fieldsOf(given)
  const isColored = hasColors((given.color ?? 'auto') as ColorChoice)
  if (json === true) return eachOnItsLine(event => toJsonLine(event, { fields, hasMeta: meta === true }))
  if (logfmt === true) return eachOnItsLine(event => toLogfmt(event, fields))
  const options = { fields, isUtc: utc === true, showsRepeats: repeats === true }
  const format = new HumanFormat(options, new SystemDate(systemTimeMs()))
  return events => printLines(format.lines(events), isColored)
}

function eachOnItsLine(toLine: (event: ShownEvent) => string): PrintEvents {
  function* lines(events: readonly ShownEvent[]): Generator<StyledLine> {
    for (const event of events) yield [toLine(event)]
  }
  return events => printLines(lines(events), false)
}

function fieldsOf({ fields }: Given): string[] | undefined {
  if (fields === undefined) return undefined
  const paths = String(fields)
    .split(',')
    .map(path => path.trim())
  if (paths.every(path => path !== '')) return [...new Set(paths)]
  throw new Misuse('--fields must be names of fields with commas between them, such as http.status,dur_ms')
}

/** Returns the query. The user may give it as several words. */
export function queryOf({ query = '' }: Given): string {
  return Array.isArray(query) ? query.join(' ') : String(query)
}

/** @throws Misuse */
export function datasetOf({ dataset }: Given): string | undefined {
  if (dataset === undefined || isDatasetName(dataset)) return dataset
  throw new Misuse('--dataset must be the name of a dataset')
}

/**
 * Returns the search that the options ask for.
 *
 * @throws Misuse
 */
export function searchOf(given: Given): Search {
  return {
    q: queryOf(given),
    dataset: datasetOf(given),
    from: timeOption(given, 'since'),
    to: timeOption(given, 'until'),
    limit: integerOf(given, 'limit', { usual: usualLimit, min: 1, max: maxLimit }),
  }
}

/**
 * Prints the events of a search, and then the notices about them. Waits whenever the reader of standard output is behind.
 * Stops when the signal is aborted. Returns the exit code of the command.
 */
export async function printFound(
  { events, notices, reading }: FoundEvents,
  printEvents: PrintEvents,
  given: Given,
  signal: AbortSignal,
): Promise<number> {
  if (signal.aborted) return 0
  if (reading !== undefined) printReading(reading)
  for (const _ of printEvents(given.reverse === true ? events.reverse() : events)) {
    await whenTaken(signal)
    if (signal.aborted) return 0
  }
  for (const notice of notices) printError(`logferry: ${toMessageLine(notice)}`)
  return events.length === 0 && given['exit-code'] === true ? noMatch : 0
}

/**
 * Reads an option that is an integer.
 *
 * @throws Misuse
 */
export function integerOf(given: Given, name: string, range: { usual: number; min: number; max: number }): number {
  const { usual, min, max } = range
  const text = given[name]
  if (text === undefined) return usual
  const number = /^\d+$/.test(String(text)) ? Number(text) : Number.NaN
  if (number >= min && number <= max) return number
  throw new Misuse(`--${name} must be an integer from ${min} to ${max.toLocaleString('en')}, not '${text}'`)
}

/** Tells on standard error how a query was understood, if it was not taken as it stands. */
export function printReading({ readAs, notes }: Pick<QueryReading, 'readAs' | 'notes'>): void {
  if (readAs !== undefined) printError(`logferry: the query was read as ${toMessageLine(readAs)}`)
  for (const { text, didYouMean } of notes.slice(0, maxNotes)) {
    printError(`logferry: ${toMessageLine(`${text}${didYouMean === undefined ? '' : ` Did you mean ${didYouMean}?`}`)}`)
  }
}
