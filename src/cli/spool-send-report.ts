import { join } from 'node:path'
import type { Shipper } from '../index.ts'
import { deadLettersName } from '../spool/file-names.ts'
import type { ProcessContents, SpoolContents } from '../spool/inspect.ts'
import { counted } from '../text/counted.ts'
import { escapeJson } from '../text/escape-json.ts'
import { toShortLine } from '../text/short-line.ts'
import { type Ending, endingNames } from './ending.ts'
import { keptRefusals } from './refused-count.ts'
import { hasUnreadable, inUse, maxPathChars, sum, unreadableNotes } from './spool.ts'

/** Counts of events by their fate. */
export interface Delivered {
  readonly delivered: number
  readonly refused: number
  readonly lost: number
}

/** The result of `spool send`. */
export interface SendReport {
  readonly directory: string
  readonly counts: Delivered
  readonly ending: Ending
  /** Directories that were to be sent, and are still there. */
  readonly rest: readonly ProcessContents[]
  /** Directories for other services. */
  readonly elsewhere: readonly ProcessContents[]
  readonly after: SpoolContents
}

export const nothingDelivered: Delivered = { delivered: 0, refused: 0, lost: 0 }

/** Returns the counts of a shipper. Refused events that `rejected.ndjson` does not have are lost. */
export function countsOf(shipper: Shipper): Delivered {
  const stats = shipper.stats()
  const refused = keptRefusals(stats)
  return { delivered: stats.delivered, refused, lost: stats.dropped - refused }
}

export function addCounts(one: Delivered, other: Delivered): Delivered {
  return {
    delivered: one.delivered + other.delivered,
    refused: one.refused + other.refused,
    lost: one.lost + other.lost,
  }
}

/** True if events stay in the spool that are of no running process, or were lost. */
export function isSomethingLeft({ counts, rest, elsewhere, after }: SendReport): boolean {
  return counts.lost > 0 || rest.length > 0 || elsewhere.length > 0 || hasUnreadable(after)
}

export function sendReportInWords(report: SendReport): string {
  const { directory, counts, rest, elsewhere } = report
  const { delivered, refused, lost } = counts
  const letters = toShortLine(join(directory, deadLettersName), undefined, maxPathChars)
  const lines = [
    `Delivered: ${counted(delivered, 'event')}`,
    refused > 0 && `Refused by the service: ${counted(refused, 'event')}, now in ${letters}`,
    lost > 0 && `Lost: ${counted(lost, 'event')}; the warnings say why`,
    rest.length > 0 && restInWords(report),
    ...elsewhere.map(elsewhereInWords),
    ...othersInWords(report.after),
  ]
  return lines.filter(line => line !== false).join('\n')
}

export function sendReportInJson(report: SendReport): string {
  const { directory, counts, ending, rest, elsewhere, after } = report
  const named = (processes: readonly ProcessContents[]) =>
    processes.map(({ name, events, destination }) => ({ name, events, destination }))
  const left = {
    stillThere: { because: rest.length === 0 ? undefined : reasonOf(ending), processes: named(rest) },
    elsewhere: named(elsewhere),
    inUse: sum(inUse(after)).events,
    foreignDirectories: after.foreignDirectories,
    unreadableDirectories: after.unreadableDirectories,
  }
  return escapeJson(JSON.stringify({ directory, ...counts, ending: endingNames[ending], ...left }, null, 2))
}

function restInWords({ rest, ending }: SendReport): string {
  const directories = counted(rest.length, 'directory', 'directories')
  return `Still there: ${counted(sum(rest).events, 'event')} in ${directories}, because ${reasonOf(ending)}`
}

function reasonOf(ending: Ending): string {
  return ending === 'done' ? 'they were left meanwhile or could not be read' : ending
}

function elsewhereInWords({ name, events, destination }: ProcessContents): string {
  return `Left alone: ${counted(events, 'event')} for another service (${toShortLine(String(destination))}), in ${name}`
}

/** Returns lines about the events of running processes, which deliver these themselves, and of other users. */
export function othersInWords(contents: SpoolContents): string[] {
  const { events } = sum(inUse(contents))
  return [
    ...(events > 0 ? [`Left alone: ${counted(events, 'event')} of running processes`] : []),
    ...unreadableNotes(contents),
  ]
}
