import { join } from 'node:path'
import type { ShipperStats } from '../../index.ts'
import { deadLettersName } from '../../spool/file-names.ts'
import { counted } from '../../text/counted.ts'
import { toShortLine } from '../../text/short-line.ts'
import { type Ending, endingNames } from '../ending.ts'
import { keptRefusals } from '../refused-count.ts'
import { maxPathChars } from '../spool.ts'

/** What has become of the input. */
export interface PipeResult {
  readonly stats: ShipperStats
  readonly ending: Ending
  readonly lines: number
  readonly blank: number
  readonly belowMinimum: number
  readonly notJson: number
  readonly firstNotJson: number
  readonly tooLong: number
  /** Maximum bytes of a line. */
  readonly maxLineBytes: number
  readonly spoolDirectory: string | undefined
  /** The errors that ended the input or the output early. */
  readonly inputError: NodeJS.ErrnoException | undefined
  readonly teeError: NodeJS.ErrnoException | undefined
  readonly isTeeDeserted: boolean
}

/** True if the whole input has arrived, as it should. */
export function isComplete({ stats, notJson, inputError, teeError }: PipeResult): boolean {
  return stats.pending + stats.dropped + notJson === 0 && inputError === undefined && teeError === undefined
}

/** Returns the summary: a line for the whole, and one for everything that is out of the ordinary. */
export function reportOf(result: PipeResult): string {
  const { stats, lines, blank, belowMinimum, notJson, firstNotJson, tooLong, maxLineBytes } = result
  const adopted = stats.spool?.adopted ?? 0
  const notes = [
    inputNote(result.inputError),
    teeNote(result),
    adopted > 0 && `Adopted from the spool: ${counted(adopted, 'event')} of earlier processes`,
    blank > 0 && `Skipped: ${counted(blank, 'blank line')}`,
    belowMinimum > 0 && `Below the minimum severity: ${counted(belowMinimum, 'event')}`,
    notJson > 0 &&
      `Not a JSON object: ${counted(notJson, 'line')}, shipped as text (the first is line ${firstNotJson})`,
    tooLong > 0 &&
      `Longer than ${maxLineBytes.toLocaleString('en')} bytes: ${counted(tooLong, 'line')}, shipped in part`,
    stats.stubbed > 0 && `Nested too deep: ${counted(stats.stubbed, 'event')}, without the inner parts`,
    stats.cut > 0 && `Cut to fit: ${counted(stats.cut, 'event')}, marked with logferry.cut`,
    ...lossNotes(result),
  ]
  const whole = `Read ${counted(lines, 'line')}, delivered ${counted(stats.delivered, 'event')}`
  return [whole, ...notes.filter(note => typeof note === 'string')].map(note => `${note}.`).join('\n')
}

/** Returns the summary for a program. */
export function reportInJson(result: PipeResult): string {
  const { stats, ending, lines, blank, belowMinimum, notJson, firstNotJson, tooLong } = result
  const refused = keptRefusals(stats)
  const report = {
    ok: isComplete(result),
    ending: endingNames[ending],
    lines,
    delivered: stats.delivered,
    refused,
    lost: stats.dropped - refused,
    inSpool: stats.pending,
    adopted: stats.spool?.adopted ?? 0,
    blank,
    belowMinimum,
    notJson,
    firstNotJson: notJson > 0 ? firstNotJson : undefined,
    tooLong,
    nestedTooDeep: stats.stubbed,
    cut: stats.cut,
    drops: stats.drops,
    inputError: result.inputError && codeOf(result.inputError),
  }
  return JSON.stringify(report, null, 2)
}

function codeOf({ code, message }: NodeJS.ErrnoException): string {
  return toShortLine(code ?? message)
}

function lossNotes({ stats, ending, spoolDirectory }: PipeResult): (string | false)[] {
  const refused = keptRefusals(stats)
  const lost = stats.dropped - refused
  const file = spoolDirectory && toShortLine(join(spoolDirectory, deadLettersName), undefined, maxPathChars)
  return [
    refused > 0 &&
      `Refused by the service: ${counted(refused, 'event')}${file === undefined ? '' : ` (now in ${file})`}`,
    lost > 0 &&
      `Lost: ${counted(lost, 'event')}${ending === 'done' ? '' : `, because ${ending}`}. The warnings say more${file === undefined ? '. With --spool, events wait on disk instead' : ''}`,
    stats.pending > 0 &&
      `In the spool: ${counted(stats.pending, 'event')}, because ${ending}. The next process delivers them`,
  ]
}

function inputNote(error: NodeJS.ErrnoException | undefined): string | false {
  return error !== undefined && `The input could not be read to its end: ${codeOf(error)}`
}

function teeNote({ teeError, isTeeDeserted }: PipeResult): string | false {
  if (isTeeDeserted) return 'The reader of standard output went away; the input was read on without it'
  return teeError !== undefined && `Standard output could not be written: ${codeOf(teeError)}`
}
