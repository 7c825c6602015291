import { toMessageLine } from '../text/short-line.ts'
import type { Command } from './command.ts'
import {
  datasetOf,
  formatOptions,
  integerOf,
  printerOf,
  printReading,
  queryArgument,
  queryOf,
} from './events/reader-options.ts'
import type { FoundEvents } from './events/search.ts'
import { newestInSpool } from './events/spool-events.ts'
import { stopSignal } from './events/stop.ts'
import { timeOption } from './events/time-argument.ts'
import { printError } from './print.ts'
import { directoryOf, explainUnreadable, spoolDirectory } from './spool.ts'

const maxLimit = 1_000_000
const usualLimit = 1000
const noMatch = 3

export const command: Command = {
  description: `Prints the events that wait in a spool, oldest first. Changes nothing.

The query has the language of the page of 'logferry dev': logferry spool show /var/spool/checkout 'level:>=warn -health'

Exits with 0, also if no event matches; with 1 if the spool cannot be read.`,
  arguments: [...spoolDirectory.arguments, queryArgument],
  options: {
    ...spoolDirectory.options,
    since: { value: 'time', description: 'print later events only: 10m (ago), 1h30m, 10:42, 2026-11-21T10:42:07Z' },
    until: { value: 'time', description: 'print earlier events only' },
    limit: { value: 'number', description: `print the newest events only, so many (default: ${usualLimit})` },
    dataset: { value: 'name', description: 'print the events of this dataset only' },
    'exit-code': { description: `exit with ${noMatch} if no event matches` },
    ...formatOptions,
  },
  async run(given) {
    const directory = directoryOf(given)
    const printEvents = printerOf(given)
    const search = {
      q: queryOf(given),
      dataset: datasetOf(given),
      from: timeOption(given, 'since'),
      to: timeOption(given, 'until'),
      limit: integerOf(given, 'limit', { usual: usualLimit, min: 1, max: maxLimit }),
    }
    let found: FoundEvents
    try {
      found = await newestInSpool(directory, search, stopSignal())
    } catch (error) {
      return explainUnreadable(error, directory)
    }
    if (found.reading !== undefined) printReading(found.reading)
    printEvents(found.events)
    for (const notice of found.notices) printError(`logferry: ${toMessageLine(notice)}`)
    return found.events.length === 0 && given['exit-code'] === true ? noMatch : 0
  },
}
