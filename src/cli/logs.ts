import type { Command, Given } from './command.ts'
import {
  explainTrouble,
  foreignSearchOptions,
  formatOptions,
  printerOf,
  printFound,
  queryArgument,
  searchOf,
  searchOptions,
  sourceOf,
  sourceOptions,
} from './events/reader-options.ts'
import { type FoundEvents, newestEvents } from './events/search.ts'
import { newestInSpool } from './events/spool-events.ts'
import { stopSignal } from './events/stop.ts'

export const command: Command = {
  description: `Prints the events that a running 'logferry dev' keeps, oldest first, and ends.

Write a query as on the page of 'logferry dev': logferry logs --since 10m 'level:>=warn http.status:>=500 "timed out" -health'

Exits with 0, also if no event matches; with 1 if the service or the spool cannot be read.`,
  arguments: [queryArgument],
  options: {
    ...searchOptions,
    reverse: { description: 'print the newest event first' },
    ...sourceOptions,
    ...formatOptions,
  },
  foreignOptions: foreignSearchOptions,
  async run(given) {
    const printEvents = printerOf(given)
    const find = finderOf(given)
    const signal = stopSignal()
    let found: FoundEvents
    try {
      found = await find(signal)
    } catch (error) {
      return signal.aborted ? 0 : explainTrouble(error, given)
    }
    return printFound(found, printEvents, given, signal)
  },
}

/**
 * Returns the function that finds what the options ask for.
 *
 * @throws Misuse
 */
function finderOf(given: Given): (signal: AbortSignal) => Promise<FoundEvents> {
  const search = searchOf(given)
  const source = sourceOf(given)
  return signal =>
    'client' in source ? newestEvents(source.client, search, signal) : newestInSpool(source.directory, search, signal)
}
