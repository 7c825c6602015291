import { shownPath } from '../spool/file-names.ts'
import { readSpool, type SpooledEvent } from '../spool/read-spool.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import type { Command } from './command.ts'
import { datasetOf } from './events/reader-options.ts'
import { stopSignal } from './events/stop.ts'
import { writtenTime } from './events/written-time.ts'
import { print, printError, whenTaken } from './print.ts'
import { directoryOf, explainUnreadable, spoolDirectory } from './spool.ts'

/** Maximum number of messages about segments that cannot be read. */
const maxNamed = 20

export const command: Command = {
  description: `Writes the events that wait in a spool to standard output, as newline-delimited JSON: the oldest file
first, and each file in its order. Datasets may have files of their own, so sort by _time if the order matters. The events
stay in the spool. An event that is delivered meanwhile may be missing, and one that is written may still arrive.

Exits with 0, or with 1 if events are damaged or cannot be read; the others are written. Also exits with 1 if it is
stopped before the end.`,
  ...spoolDirectory,
  options: {
    ...spoolDirectory.options,
    dataset: { value: 'name', description: 'write the events of this dataset only' },
    meta: { description: 'wrap each event in its dataset and the time when it was written' },
  },
  async run(given) {
    const directory = directoryOf(given)
    const dataset = datasetOf(given)
    const toLine = given.meta === true ? withMeta : plain
    const signal = stopSignal()
    let [unreadable, lost] = [0, 0]
    try {
      for await (const segment of readSpool(directory)) {
        if (signal.aborted) return stopped()
        if ('reason' in segment) {
          if (unreadable++ < maxNamed)
            printError(`logferry: ${shownPath(segment)} is left out: ${toShortLine(segment.reason)}.`)
          continue
        }
        lost += segment.lost
        const events = segment.events.filter(event => dataset === undefined || event.dataset === dataset)
        if (events.length > 0) print(events.map(toLine).join('\n'))
        await whenTaken(signal)
      }
    } catch (error) {
      return explainUnreadable(error, directory)
    }
    if (lost > 0) printError(`logferry: ${counted(lost, 'damaged event')} left out. logferry spool verify names them.`)
    return lost > 0 || unreadable > 0 ? 1 : 0
  },
}

/** The output is not whole: a script must not go on as if it were. A reader that has ended wants no more. */
function stopped(): 0 | 1 {
  if (process.stdout.errored !== null) return 0
  printError('logferry: stopped before the end. The events are still in the spool.')
  return 1
}

function plain({ line }: SpooledEvent): string {
  return escapeJson(line)
}

function withMeta(event: SpooledEvent): string {
  const { dataset, line } = event
  const written = writtenTime(event, JSON.parse(line)._time)
  const meta = JSON.stringify({ dataset, written: new Date(written).toISOString() })
  return escapeJson(`${meta.slice(0, -1)},"event":${line}}`)
}
