import { toMessageLine } from '../text/short-line.ts'
import type { Command, Given } from './command.ts'
import { type Arrival, follow } from './events/follow.ts'
import {
  datasetOf,
  explainTrouble,
  foreignFollowOptions,
  formatOptions,
  integerOf,
  printerOf,
  printReading,
  queryArgument,
  queryOf,
  sourceOf,
  sourceOptions,
} from './events/reader-options.ts'
import { followSpool } from './events/spool-events.ts'
import { stopSignal } from './events/stop.ts'
import { printError, whenTaken } from './print.ts'

const maxLast = 100_000

export const command: Command = {
  description: `Prints the events that arrive at a running 'logferry dev', oldest first, until Ctrl-C. Standard error tells
of each gap: a time without a connection, or events that the service forgot before they could be read.

Write a query as on the page of 'logferry dev': logferry tail 'level:>=warn http.status:>=500 "timed out" -health'

Exits with 0, also if the reader of its output ends; with 1 if the service or the spool cannot be read.`,
  arguments: [queryArgument],
  options: {
    last: { value: 'number', description: 'print so many earlier events first (default: 0)' },
    ...sourceOptions,
    ...formatOptions,
  },
  foreignOptions: foreignFollowOptions,
  async run(given) {
    const printEvents = printerOf(given)
    const arrivals = arrivalsOf(given)
    const signal = stopSignal()
    try {
      for await (const { notices, events, reading } of arrivals(signal)) {
        if (reading !== undefined) {
          printReading(reading)
          // On a terminal, an empty screen should not look like a command that hangs.
          if (process.stdout.isTTY && events.length === 0) printError('Waiting for events. Press Ctrl-C to stop.')
        }
        for (const notice of notices) printError(`logferry: ${toMessageLine(notice)}`)
        for (const _ of printEvents(events)) {
          await whenTaken(signal)
          if (signal.aborted) break
        }
        if (signal.aborted) break
      }
    } catch (error) {
      return signal.aborted ? 0 : explainTrouble(error, given)
    }
    return 0
  },
}

/**
 * Returns what the options ask to follow.
 *
 * @throws Misuse
 */
function arrivalsOf(given: Given): (signal: AbortSignal) => AsyncGenerator<Arrival> {
  const last = integerOf(given, 'last', { usual: 0, min: 0, max: maxLast })
  const wanted = { q: queryOf(given), dataset: datasetOf(given), last }
  const source = sourceOf(given)
  return signal =>
    'client' in source
      ? follow(source.client, { ...wanted, signal })
      : followSpool(source.directory, { ...wanted, signal })
}
