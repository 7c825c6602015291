import type { NumberRange } from '../number-ranges.ts'
import { fileTrouble } from '../text/file-trouble.ts'
import { toShortLine } from '../text/short-line.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { fileLines } from './file-lines.ts'
import { print, printError } from './print.ts'
import { type AuditReport, type ShipperAudit, TooScattered, UidAudit } from './uid-audit.ts'

/** Maximum number of ranges in one line of text; `--json` lists more. */
const maxShown = 10
const maxPathChars = 1000

export const command: Command = {
  description: `Looks for lost and duplicate events in events that were exported from the service: newline-delimited JSON, one
event a line, in any order. The events must have the uid that the option 'identify' gives them. Their numbers have no
gaps in what one shipper has shipped, to all of its datasets together.

Exits with 0 if no number is missing, with 1 if numbers are missing, lines are not a JSON object, or no event has such a
uid. Duplicates are reported only: they can be removed by their uid.`,
  arguments: [
    {
      name: 'file',
      description: "the exported events; '-' is standard input, and *.gz is decompressed",
      completes: 'files',
    },
  ],
  options: {
    file: { value: 'path', description: 'the file, if it is not given as [file]', completes: 'files' },
    whole: {
      description:
        'the file begins with the first event of each shipper: numbers before the first one count as missing',
    },
    json: { description: 'print JSON' },
  },
  outlivesReader: true,
  async run(given) {
    const path = pathOf(given)
    const audit = new UidAudit()
    try {
      for await (const lines of fileLines(path)) for (const line of lines) audit.count(line)
    } catch (error) {
      const problem = problemOf(error)
      if (problem === undefined) throw error
      printError(`logferry: ${toShortLine(path, undefined, maxPathChars)} ${problem}`)
      return 1
    }
    const report = audit.report({ isWhole: given.whole === true })
    print(given.json === true ? JSON.stringify(report, null, 2) : inWords(report))
    return isComplete(report) ? 0 : 1
  },
}

/** True if no event is known to be missing. A line that cannot be read may be the last event of a shipper, or all but one. */
function isComplete({ shippers, unreadable }: AuditReport): boolean {
  return shippers.length > 0 && unreadable === 0 && shippers.every(({ missing }) => missing === 0)
}

function pathOf({ file }: Given): string {
  if (typeof file !== 'string' || file === '')
    throw new Misuse('no file given: name one with events as newline-delimited JSON')
  return file
}

/** Returns what is wrong with the file, or `undefined` for an error that has nothing to do with it. */
function problemOf(error: unknown): string | undefined {
  if (error instanceof TooScattered)
    return 'has its events so much out of order that the gaps exceed memory: sort it by time'
  return (error as NodeJS.ErrnoException).code === undefined
    ? undefined
    : fileTrouble('read', error as NodeJS.ErrnoException)
}

function inWords({ lines, unidentified, unreadable, shippers }: AuditReport): string {
  const notes = [
    unidentified > 0 && `Events without a uid of logferry: ${unidentified.toLocaleString('en')}.`,
    unreadable > 0 && `Lines that are not a JSON object, and may be events: ${unreadable.toLocaleString('en')}.`,
  ]
  if (shippers.length === 0) {
    const none = `None of ${lines.toLocaleString('en')} lines has an event with a uid of logferry.`
    const remedy =
      unidentified > 0 ? "Set the option 'identify'." : 'Give a file with one event as JSON in each line, as UTF-8.'
    return [none, remedy, unreadable > 0 && notes[1]].filter(Boolean).join(' ')
  }
  return [...shippers.map(shipperInWords), ...notes].filter(Boolean).join('\n')
}

function shipperInWords({ shipper, first, last, events, missing, gaps, duplicates, repeated }: ShipperAudit): string {
  const [from, to] = [first.toLocaleString('en'), last.toLocaleString('en')]
  return [
    `${shipper}: numbers ${from} to ${to}, events ${events.toLocaleString('en')}`,
    missing === 0 ? '  missing: none' : `  missing: ${missing.toLocaleString('en')} (${rangesInWords(gaps)})`,
    duplicates === 0
      ? '  duplicates: none'
      : `  duplicates: ${duplicates.toLocaleString('en')} (${rangesInWords(repeated)})`,
  ].join('\n')
}

function rangesInWords(ranges: readonly NumberRange[]): string {
  const shown = ranges.slice(0, maxShown).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`))
  return ranges.length > maxShown ? `${shown.join(', ')}, …` : shown.join(', ')
}
