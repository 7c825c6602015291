import type { Command } from './command.ts'
import {
  foreignSearchOptions,
  formatOptions,
  printerOf,
  printFound,
  queryArgument,
  searchOf,
  searchOptions,
  sourceOptions,
} from './events/reader-options.ts'
import type { FoundEvents } from './events/search.ts'
import { newestInSpool } from './events/spool-events.ts'
import { stopSignal } from './events/stop.ts'
import { directoryOf, explainUnreadable, spoolDirectory } from './spool.ts'

export const command: Command = {
  description: `Prints the events that wait in a spool, oldest first. Changes nothing.

Write a query as on the page of 'logferry dev': logferry spool show /var/spool/checkout 'level:>=warn -health'

Exits with 0, also if no event matches; with 1 if the spool cannot be read.`,
  arguments: [...spoolDirectory.arguments, queryArgument],
  options: {
    ...spoolDirectory.options,
    ...searchOptions,
    dataset: sourceOptions.dataset,
    ...formatOptions,
  },
  foreignOptions: foreignSearchOptions,
  async run(given) {
    const directory = directoryOf(given)
    const printEvents = printerOf(given)
    const search = searchOf(given)
    const signal = stopSignal()
    let found: FoundEvents
    try {
      found = await newestInSpool(directory, search, signal)
    } catch (error) {
      return explainUnreadable(error, directory)
    }
    return printFound(found, printEvents, given, signal)
  },
}
