import { join } from 'node:path'
import { systemCode } from '../text/system-code.ts'
import { isClaimed } from './claim.ts'
import { lettersIn, readLettersFile } from './dead-letter-files.ts'
import { nodeDisk } from './disk.ts'
import { whyNoEvent } from './event-line.ts'
import { deadLettersName, olderDeadLettersName } from './file-names.ts'
import { assertSpool } from './read-spool.ts'
import { isSealed, maxSegmentBytes, partsOf, readSegment, type SegmentPart } from './segment-format.ts'
import { directoriesIn, ofAnotherUser, readableSegmentsIn, type SegmentFile } from './spool-directory.ts'

/** The result of checking one segment, or of a directory that cannot be read. */
export interface SegmentReport {
  readonly directory: string
  /** Empty for the directory itself. */
  readonly name: string
  readonly bytes: number
  /** `undefined` if no record is intact. */
  readonly dataset: string | undefined
  /** Number of events that can be delivered. */
  readonly events: number
  /**
   * True if a running process owns the segment. Its last record may be half written. That looks like damage, and is not
   * reported.
   */
  readonly isInUse: boolean
  /** False if the process ended before it finished the segment. */
  readonly isSealed: boolean
  /** Number of events that are known to be lost. */
  readonly lost: number
  /** At most 20. */
  readonly problems: readonly SegmentProblem[]
  /** Number of problems, including problems that are left out. */
  readonly problemCount: number
}

export type SegmentProblem =
  | { readonly kind: 'unreadable'; readonly reason: string }
  /** Bytes that are no intact record: a checksum does not fit, or the end of the file is missing. */
  | { readonly kind: 'damaged'; readonly from: number; readonly to: number }
  | { readonly kind: 'missing'; readonly lines: number }
  /** An intact record that is no event. */
  | { readonly kind: 'no-event'; readonly reason: string }

/** The result of checking one file of refused events. */
export interface LettersReport {
  readonly file: string
  /** Number of lines. */
  readonly letters: number
  /** Lines that are no refused event. At most 20. */
  readonly unreadable: readonly { readonly line: number; readonly reason: string }[]
  readonly unreadableCount: number
}

const maxProblems = 20

/**
 * Checks every record of a spool by its checksum, and changes nothing.
 *
 * @throws UnsafePath if another user could have put the contents there
 * @throws any error from the disk, for example if the directory does not exist
 */
export async function* verifySegments(root: string): AsyncGenerator<SegmentReport> {
  await assertSpool(root)
  const foreign: string[] = []
  for (const directory of await directoriesIn(root, nodeDisk, name => foreign.push(name))) {
    const files = await readableSegmentsIn(root, directory, nodeDisk)
    if (typeof files === 'string') {
      yield unreadableReport({ directory, name: '', bytes: 0, isInUse: false }, files, 0)
      continue
    }
    const isInUse = await isClaimed(join(root, directory))
    for (const file of files) {
      const report = await verifySegment(root, directory, file, isInUse)
      if (report !== undefined) yield report
    }
  }
  for (const directory of foreign)
    yield unreadableReport({ directory, name: '', bytes: 0, isInUse: false }, ofAnotherUser, 0)
}

function unreadableReport(
  base: Pick<SegmentReport, 'directory' | 'name' | 'bytes' | 'isInUse'>,
  reason: string,
  lost = 1,
): SegmentReport {
  const problems = [{ kind: 'unreadable', reason } as const]
  return { ...base, dataset: undefined, events: 0, isSealed: false, lost, problems, problemCount: 1 }
}

/** Returns `undefined` if the segment was delivered meanwhile. */
async function verifySegment(
  root: string,
  directory: string,
  file: SegmentFile,
  isInUse: boolean,
): Promise<SegmentReport | undefined> {
  const base = { directory, name: file.name, bytes: file.bytes, isInUse }
  if (file.bytes > maxSegmentBytes) return unreadableReport(base, 'the file is too large for a segment')
  let bytes: Buffer
  try {
    bytes = await nodeDisk.read(join(root, directory, file.name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    const code = systemCode(error as Error)
    return code === 'ENOENT' ? undefined : unreadableReport(base, `the file cannot be read (${code})`)
  }
  const sealed = isSealed(bytes)
  // The owner of a segment in use is just writing its end.
  const damaged = damagedParts(bytes).filter(({ to }) => !isInUse || to < bytes.length)
  const { dataset, severities, lost, refused } = readSegment(bytes, whyNoEvent) // last: the reader moves the bytes
  const problems: SegmentProblem[] = [
    ...damaged,
    ...refused.map(({ reason }) => ({ kind: 'no-event', reason }) as const),
  ]
  if (lost > 0 && problems.length === 0 && !isInUse) problems.push({ kind: 'missing', lines: lost })
  return {
    ...base,
    dataset,
    events: severities.length,
    isSealed: sealed,
    lost: problems.length === 0 ? 0 : Math.max(lost, 1),
    problems: problems.slice(0, maxProblems),
    problemCount: problems.length,
  }
}

function damagedParts(bytes: Buffer): Extract<SegmentPart, { kind: 'damaged' }>[] {
  const damaged: Extract<SegmentPart, { kind: 'damaged' }>[] = []
  for (const part of partsOf(bytes)) if (part.kind === 'damaged') damaged.push(part)
  return damaged
}

/**
 * Checks the files of refused events.
 *
 * @throws UnsafePath if a file may be another program's
 */
export function* verifyLetters(root: string): Generator<LettersReport> {
  for (const file of [olderDeadLettersName, deadLettersName]) {
    const bytes = readLettersFile(join(root, file))
    if (bytes === undefined) continue
    const unreadable: { line: number; reason: string }[] = []
    let [letters, unreadableCount] = [0, 0]
    for (const letter of lettersIn(bytes)) {
      letters++
      if (letter.kind !== 'unreadable') continue
      unreadableCount++
      if (unreadable.length < maxProblems) unreadable.push({ line: letter.number, reason: letter.reason })
    }
    yield { file, letters, unreadable, unreadableCount }
  }
}
