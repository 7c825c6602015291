import { toMessageLine } from '../text/short-line.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { DevClient, devAddressOf, ServiceTrouble } from './events/dev-client.ts'
import {
  datasetOf,
  formatOptions,
  integerOf,
  printerOf,
  printReading,
  queryArgument,
  queryOf,
  sourceOptions,
} from './events/reader-options.ts'
import { type FoundEvents, newestEvents, type Search } from './events/search.ts'
import { newestInSpool } from './events/spool-events.ts'
import { stopSignal } from './events/stop.ts'
import { timeOption } from './events/time-argument.ts'
import { printError } from './print.ts'
import { explainUnreadable, spoolOf } from './spool.ts'

const maxLimit = 1_000_000
const usualLimit = 1000
const noMatch = 3

export const command: Command = {
  description: `Prints the events that a running 'logferry dev' keeps, oldest first, and ends.

The query has the language of the page: logferry logs --since 10m 'level:>=warn http.status:>=500 "timed out" -health'

Exits with 0, also if no event matches; with 1 if the service or the spool cannot be read.`,
  arguments: [queryArgument],
  options: {
    since: { value: 'time', description: 'print later events only: 10m (ago), 1h30m, 10:42, 2026-11-21T10:42:07Z' },
    until: { value: 'time', description: 'print earlier events only' },
    limit: { value: 'number', description: `print the newest events only, so many (default: ${usualLimit})` },
    reverse: { description: 'print the newest event first' },
    'exit-code': { description: `exit with ${noMatch} if no event matches` },
    ...sourceOptions,
    ...formatOptions,
  },
  async run(given) {
    const printEvents = printerOf(given)
    const find = searchOf(given)
    const signal = stopSignal()
    let found: FoundEvents
    try {
      found = await find(signal)
    } catch (error) {
      if (signal.aborted) return 0
      if (!(error instanceof ServiceTrouble)) return explainUnreadable(error, String(given.spool))
      printError(`logferry: ${toMessageLine(error.message)}`)
      return 1
    }
    const { events, notices, reading } = found
    if (reading !== undefined) printReading(reading)
    printEvents(given.reverse === true ? events.reverse() : events)
    for (const notice of notices) printError(`logferry: ${toMessageLine(notice)}`)
    return events.length === 0 && given['exit-code'] === true ? noMatch : 0
  },
}

/**
 * Returns the search that the options ask for.
 *
 * @throws Misuse
 */
function searchOf(given: Given): (signal: AbortSignal) => Promise<FoundEvents> {
  const search: Search = {
    q: queryOf(given),
    dataset: datasetOf(given),
    from: timeOption(given, 'since'),
    to: timeOption(given, 'until'),
    limit: integerOf(given, 'limit', { usual: usualLimit, min: 1, max: maxLimit }),
  }
  const directory = spoolOf(given)
  if (directory === undefined) {
    const client = new DevClient(devAddressOf(given))
    return signal => newestEvents(client, search, signal)
  }
  if (given.url !== undefined) throw new Misuse('--url and --spool exclude each other. Give one of them.')
  return signal => newestInSpool(directory, search, signal)
}
