import { deadLettersName } from '../spool/file-names.ts'
import { ResendDirectory } from '../spool/resend-directory.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import { type Command, type Given, Misuse } from './command.ts'
import { type Ending, endingNames } from './ending.ts'
import { print, printError } from './print.ts'
import { Resender, type Tally } from './resender.ts'
import { serviceOptions } from './service.ts'
import { directoryOf, explainUnreadable, maxPathChars, spoolDirectory, timeoutMsOf } from './spool.ts'
import { timeoutOption } from './spool-delivery.ts'

export const command: Command = {
  description: `Sends the events in rejected.ndjson and rejected.1.ndjson of a spool once more, for example after an edit
of their field event. Events that the service takes are removed from there; all others stay. An application may go on
writing refused events meanwhile. If the command is killed, run it again.

Takes its options from the environment, as an application does: LOGFERRY_URL, LOGFERRY_TOKEN, LOGFERRY_ORG_ID.

Exits with 0 if no event is left, with 1 if one is.`,
  ...spoolDirectory,
  options: {
    ...spoolDirectory.options,
    dataset: { value: 'name', description: 'send the events of this dataset only' },
    'time-field': {
      value: 'name',
      description: 'name of the timestamp in the events, if the application has set timeField (default: _time)',
    },
    ...serviceOptions,
    timeout: timeoutOption,
    json: { description: 'print the result as JSON' },
  },
  outlivesReader: true,
  async run(given) {
    const directory = directoryOf(given)
    const timeoutMs = timeoutMsOf(given)
    if (given['time-field'] === '') throw new Misuse('--time-field must be the name of a field')
    try {
      const letters = await ResendDirectory.open(directory)
      if (letters === undefined) {
        printError('logferry: another process is sending these refused events. Wait until it has ended.')
        return 1
      }
      try {
        return await resend(letters, directory, given, timeoutMs)
      } finally {
        letters.close()
      }
    } catch (error) {
      return explainUnreadable(error, directory, 'written')
    }
  },
}

async function resend(
  letters: ResendDirectory,
  directory: string,
  given: Given,
  timeoutMs: number | undefined,
): Promise<number> {
  const restored = letters.putBack()
  if (restored > 0)
    printError(`An earlier run was interrupted; ${counted(restored, 'event of it is', 'events of it are')} included.`)
  const tally: Tally = { delivered: 0, refused: 0, unanswered: 0, doubtful: 0, unsendable: 0 }
  const resender = new Resender({ letters, directory, tally, dataset: given.dataset as string | undefined })
  let left: number
  let ending: Ending
  try {
    letters.moveIn()
    ending = await resender.run(given, timeoutMs)
  } finally {
    left = letters.putBack() + resender.rewritten
  }
  const report = { directory, ...tally, left, ending }
  const forPrograms = { ...report, ending: endingNames[ending] }
  print(given.json === true ? escapeJson(JSON.stringify(forPrograms, null, 2)) : inWords(report))
  return left === 0 ? 0 : 1
}

function inWords(report: Tally & { directory: string; left: number; ending: Ending }): string {
  const { directory, left, ending, ...tally } = report
  const { delivered, refused, unanswered, doubtful, unsendable } = tally
  const lines = [
    `Delivered: ${counted(delivered, 'event')}`,
    refused > 0 && `Refused again: ${counted(refused, 'event')}; the field reason says why`,
    doubtful > 0 && `In doubt: ${counted(doubtful, 'event')}; the service refused some of them without naming which`,
    unanswered > 0 && `Not sent: ${counted(unanswered, 'event')}, because ${reasonOf(ending)}`,
    unsendable > 0 && `Without an event that can be sent: ${counted(unsendable, 'line')}; edit or remove them`,
    left > 0 &&
      `Left in ${toShortLine(directory, undefined, maxPathChars)}/${deadLettersName}: ${counted(left, 'line')}`,
  ]
  return lines.filter(line => line !== false).join('\n')
}

function reasonOf(ending: Ending): string {
  return ending === 'done' ? 'the warnings above say why' : ending
}
