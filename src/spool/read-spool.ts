import * as fs from 'node:fs'
import { join } from 'node:path'
import { type Severity, severities as severityNames } from '../accounting/severity.ts'
import { assertPrivate } from '../files/private-directory.ts'
import { systemCode } from '../text/system-code.ts'
import { nodeDisk } from './disk.ts'
import { whyNoEvent } from './event-line.ts'
import { maxSegmentBytes, newline, type RefusedRecord, readSegment } from './segment-format.ts'
import { directoriesIn, ofAnotherUser, readableSegmentsIn, type SegmentFile } from './spool-directory.ts'

/** A segment as a reader finds it. Nothing is locked or changed: its owner may deliver it at the same time. */
interface SpooledSegment {
  readonly directory: string
  readonly name: string
  readonly dataset: string
  readonly events: readonly SpooledEvent[]
  /** Number of lines that are damaged, missing or no events. */
  readonly lost: number
  readonly refused: readonly RefusedRecord[]
}

export interface SpooledEvent {
  readonly dataset: string
  /** JSON of the event, without a newline. */
  readonly line: string
  readonly severity: (typeof severityNames)[number]
  /** Time when the file was created, in milliseconds since 1970. Later events may have been added until `modifiedMs`. */
  readonly writtenMs: number
  readonly modifiedMs: number
}

/** A segment or a directory that cannot be read. */
interface UnreadableSegment {
  readonly directory: string
  /** Empty for the directory itself. */
  readonly name: string
  readonly reason: string
}

/**
 * Yields the segments of a spool, oldest first, as their files are at the moment of reading. A segment that is
 * delivered meanwhile is left out.
 *
 * @throws UnsafePath if another user could have put the contents there
 * @throws any error from the disk, for example if the directory does not exist
 */
export async function* readSpool(root: string): AsyncGenerator<SpooledSegment | UnreadableSegment> {
  await assertSpool(root)
  const foreign: string[] = []
  for (const directory of await directoriesIn(root, nodeDisk, name => foreign.push(name))) {
    const files = await readableSegmentsIn(root, directory, nodeDisk)
    if (typeof files === 'string') {
      yield { directory, name: '', reason: files }
      continue
    }
    for (const file of files) {
      const segment = await readSpooledSegment(root, directory, file)
      if (segment !== undefined) yield segment
    }
  }
  for (const directory of foreign) yield { directory, name: '', reason: ofAnotherUser }
}

/** @throws UnsafePath | any error from the disk */
export async function assertSpool(root: string): Promise<void> {
  assertPrivate(root)
  await fs.promises.readdir(root) // a missing directory has no entries, but is no spool either
}

async function readSpooledSegment(
  root: string,
  directory: string,
  { name, bytes }: SegmentFile,
): Promise<SpooledSegment | UnreadableSegment | undefined> {
  const path = join(root, directory, name)
  if (bytes > maxSegmentBytes) return { directory, name, reason: 'the file is too large for a segment' }
  try {
    const content = readSegment(await nodeDisk.read(path), whyNoEvent)
    const { dataset = '', lost, refused } = content
    const events = eventsIn(content, dataset, await fs.promises.stat(path))
    return { directory, name, dataset, lost, refused, events }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    const code = systemCode(error as Error)
    return code === 'ENOENT' ? undefined : { directory, name, reason: `the file cannot be read (${code})` }
  }
}

type FileTimes = Pick<fs.Stats, 'birthtimeMs' | 'mtimeMs'>

/**
 * Returns the creation time of a file, as far as it is known. Its owner updates the modification time to keep the file
 * from cleaners, and some file systems record no creation time.
 */
export function writtenAt({ birthtimeMs, mtimeMs }: FileTimes): number {
  return birthtimeMs > 0 ? Math.min(birthtimeMs, mtimeMs) : mtimeMs
}

/** Splits the lines of a segment. */
export function eventsIn(
  { lines, severities }: { readonly lines: Buffer; readonly severities: Uint8Array },
  dataset: string,
  times: FileTimes,
): SpooledEvent[] {
  const [writtenMs, modifiedMs] = [writtenAt(times), times.mtimeMs]
  const events: SpooledEvent[] = []
  let start = 0
  for (const severity of severities) {
    const end = lines.indexOf(newline, start)
    const line = lines.toString('utf8', start, end)
    events.push({ dataset, line, severity: severityNames[severity as Severity], writtenMs, modifiedMs })
    start = end + 1
  }
  return events
}
