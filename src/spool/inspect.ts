import * as fs from 'node:fs'
import { join } from 'node:path'
import { isClaimed } from './claim.ts'
import { maxLettersBytes } from './dead-letter-files.ts'
import { nodeDisk } from './disk.ts'
import { destinationIn, isDeadLettersName } from './file-names.ts'
import { noFollow } from './node-fs.ts'
import { assertSpool, writtenAt } from './read-spool.ts'
import { countTaken } from './resend-directory.ts'
import { maxSegmentBytes, newline, readSegment } from './segment-format.ts'
import { directoriesIn, readableSegmentsIn, type SegmentFile } from './spool-directory.ts'

/** The contents of a spool. */
export interface SpoolContents {
  /** Directories of the spool, oldest first. */
  readonly processes: readonly ProcessContents[]
  /** Number of events in `rejected.ndjson` and `rejected.1.ndjson`, and of events that a command is sending again. */
  readonly rejected: number
  /** Number of refused events that a command is sending again, or has not put back because it was interrupted. */
  readonly resending: number
  /** Number of directories of other users. Only these users can deliver the events in them. */
  readonly foreignDirectories: number
  /** Names of directories of this user that cannot be read, with the reason. */
  readonly unreadableDirectories: Readonly<Record<string, string>>
}

/** The contents of one process's directory in the spool. */
export interface ProcessContents {
  readonly name: string
  /** True if a running process has claimed the directory, as its creator or by adoption. */
  readonly isInUse: boolean
  /**
   * Destination of the events: the service's address, followed by `#` and the organization if there is one. A long
   * destination is a hash. `undefined` if the destination is unknown.
   */
  readonly destination: string | undefined
  readonly segments: number
  readonly events: number
  /** Bytes of the segments. */
  readonly bytes: number
  /** Number of events by dataset. */
  readonly datasets: Readonly<Record<string, number>>
  /** Time of the oldest event as RFC 3339; `undefined` if there is no event. */
  readonly oldest: string | undefined
  readonly newest: string | undefined
  /**
   * Number of records that are damaged or missing; an unreadable file counts as one. Always 0 for a directory in use,
   * because a half-written record looks the same.
   */
  readonly damaged: number
}

const { constants } = fs

/**
 * Reads the contents of a spool, and changes nothing in it.
 *
 * @param root the directory of the spool
 * @param onRead called with the number of events in each segment that was read
 * @throws UnsafePath if another user could have put the contents there
 * @throws any error from the disk, for example if the directory does not exist
 */
export async function spoolContents(root: string, onRead: (events: number) => void = () => {}): Promise<SpoolContents> {
  await assertSpool(root)
  let foreignDirectories = 0
  const names = await directoriesIn(root, nodeDisk, () => foreignDirectories++)
  const processes: ProcessContents[] = []
  const unreadableDirectories: Record<string, string> = {}
  for (const name of names) {
    const files = await readableSegmentsIn(root, name, nodeDisk)
    if (typeof files === 'string') unreadableDirectories[name] = files
    else processes.push(await processContents(root, name, files, onRead))
  }
  const resending = countTaken(root)
  const rejected = (await countDeadLetters(root)) + resending
  return { processes, rejected, resending, foreignDirectories, unreadableDirectories }
}

async function processContents(
  root: string,
  name: string,
  files: readonly SegmentFile[],
  onRead: (events: number) => void,
): Promise<ProcessContents> {
  const isInUse = await isClaimed(join(root, name))
  const datasets = new Map<string, number>()
  let [segments, events, bytes, damaged] = [0, 0, 0, 0]
  let [oldestMs, newestMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const file of files) {
    const segment = await segmentContents(join(root, name), file)
    if (segment === undefined) continue
    segments++
    bytes += file.bytes
    events += segment.events
    onRead(segment.events)
    damaged += segment.damaged
    oldestMs = Math.min(oldestMs, ...segment.timesMs)
    newestMs = Math.max(newestMs, ...segment.timesMs)
    if (segment.dataset !== undefined) {
      datasets.set(segment.dataset, (datasets.get(segment.dataset) ?? 0) + segment.events)
    }
  }
  return {
    name,
    isInUse,
    destination: destinationIn(name),
    segments,
    events,
    bytes,
    datasets: Object.fromEntries(datasets),
    oldest: events === 0 ? undefined : new Date(oldestMs).toISOString(),
    newest: events === 0 ? undefined : new Date(newestMs).toISOString(),
    damaged: isInUse ? 0 : damaged,
  }
}

interface SegmentContents {
  readonly dataset: string | undefined
  readonly events: number
  readonly damaged: number
  /** Times of the first and the last event, in milliseconds since 1970. */
  readonly timesMs: readonly number[]
}

const unreadable: SegmentContents = { dataset: undefined, events: 0, damaged: 1, timesMs: [] }

/** Returns `undefined` if the segment was delivered during the inspection. */
async function segmentContents(directory: string, { name, bytes }: SegmentFile): Promise<SegmentContents | undefined> {
  const path = join(directory, name)
  if (bytes > maxSegmentBytes) return unreadable
  try {
    const writtenMs = writtenAt(await fs.promises.stat(path))
    const { dataset, lines, severities, lost } = readSegment(await nodeDisk.read(path))
    const timesMs = severities.length === 0 ? [] : endsOf(lines).map(line => timeOf(line) ?? writtenMs)
    return { dataset, events: severities.length, damaged: lost, timesMs }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    return unreadable
  }
}

/** Returns the first and the last of lines that each end in a newline. */
function endsOf(lines: Buffer): string[] {
  const firstEnd = lines.indexOf(newline)
  const lastStart = lines.lastIndexOf(newline, lines.length - 2) + 1
  return [lines.toString('utf8', 0, firstEnd), lines.toString('utf8', lastStart)]
}

/** Returns the time of an event in milliseconds since 1970; `undefined` if the usual field `_time` has none. */
function timeOf(line: string): number | undefined {
  try {
    const time: unknown = JSON.parse(line)._time
    const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN
    return Number.isNaN(ms) ? undefined : ms
  } catch {
    return undefined // not an event: it will not be sent
  }
}

async function countDeadLetters(root: string): Promise<number> {
  let count = 0
  for (const { name, isDirectory } of await nodeDisk.list(root, isDeadLettersName)) {
    if (!isDirectory) count += await countLines(join(root, name))
  }
  return count
}

/** Counts the lines of a file, as far as a file of refused events is read. */
async function countLines(path: string): Promise<number> {
  let count = 0
  const flags = (constants.O_RDONLY | noFollow) as never
  try {
    for await (const bytes of fs.createReadStream(path, { flags, end: maxLettersBytes - 1 })) {
      for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count++
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error // another process may be renaming the file
  }
  return count
}
