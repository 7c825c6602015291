import { join, sep } from 'node:path'
import { systemCode } from '../text/system-code.ts'
import { monotonicMs } from '../time.ts'
import type { Claim, ClaimState } from './claim.ts'
import type { Disk } from './disk.ts'
import { directoryName, isDirectoryName, isSegmentName, segmentName } from './file-names.ts'
import { maxSegmentBytes } from './segment-format.ts'

const maxAttempts = 3
const touchEveryMs = 3_600_000

export interface SegmentFile {
  readonly name: string
  readonly bytes: number
}

/** A segment that a batch in this process needs. */
export interface NeededSegment {
  /** True if the file is gone, was replaced, or is shorter than the bytes written. */
  isGone(): boolean
  /** Treats the segment as gone. */
  vanish(): void
}

/** Called when a directory is no longer claimed. `directory.bytes` is the size of the segments still in it. */
export type OnReleased = (directory: SpoolDirectory) => void

/** A directory to create. */
interface NewDirectory {
  readonly root: string
  /** Escaped, as in directory names. */
  readonly destination: string
  readonly disk: Disk
  readonly now: Date
  /** Returns eight hexadecimal digits. */
  readonly random: () => string
  readonly onReleased: OnReleased
}

/** A directory to adopt. */
interface OrphanedDirectory {
  readonly root: string
  readonly name: string
  readonly disk: Disk
  /** Returns false if a directory of so many bytes must not be adopted. */
  readonly isWanted: (bytes: number) => boolean
  readonly onReleased: OnReleased
}

interface ClaimedDirectory extends Pick<OrphanedDirectory, 'root' | 'name' | 'disk' | 'onReleased'> {
  readonly claim: Claim
  readonly files: readonly SegmentFile[]
  /** True if the directory stays even if it is empty, until `release`. */
  readonly isKept: boolean
}

/**
 * The directory of one process in the spool, from its claim to the end of the claim. The directory is removed with its
 * last segment. After `release`, the claim ends as soon as no batch in this process needs a segment of the directory.
 */
export class SpoolDirectory {
  readonly name: string
  /** Bytes of the segments in the directory. */
  bytes: number
  readonly #root: string
  readonly #path: string
  readonly #disk: Disk
  readonly #claim: Claim
  readonly #onReleased: OnReleased
  #created = 0
  #segments: number
  readonly #needed = new Set<NeededSegment>()
  /** True while the directory stays even if it is empty. */
  #isKept: boolean
  #isToBeReleased = false
  #isReleased = false
  #isLost = false
  #renewedAtMs = monotonicMs()
  #touchedAtMs = monotonicMs()

  private constructor({ root, name, disk, claim, files, isKept, onReleased }: ClaimedDirectory) {
    this.name = name
    this.#root = root
    this.#path = join(root, name)
    this.#disk = disk
    this.#claim = claim
    this.#segments = files.length
    this.bytes = bytesOf(files)
    this.#isKept = isKept
    this.#onReleased = onReleased
  }

  /**
   * Creates and claims a new directory.
   *
   * @throws any error from the disk
   */
  static make({ root, destination, disk, now, random, onReleased }: NewDirectory): SpoolDirectory {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const name = directoryName(now, random(), destination)
      const path = join(root, name)
      disk.assertPrivate(path)
      disk.makeDirectory(path)
      disk.assertPrivate(path) // again: another user may have created it since
      const claim = claimNew(path, disk)
      // Between the two calls, another process may have adopted the new directory as an orphan.
      if (claim !== undefined) {
        return new SpoolDirectory({ root, name, disk, claim, files: [], isKept: true, onReleased })
      }
    }
    throw new Error('no file can be locked in the directory')
  }

  /**
   * Claims a directory that has no owner any more. Returns `undefined` if the directory still has an owner, if another
   * process adopts it first, or if `isWanted` refuses its bytes.
   *
   * @throws any error from the disk
   */
  static async adopt(
    orphan: OrphanedDirectory,
  ): Promise<{ directory: SpoolDirectory; files: SegmentFile[] } | undefined> {
    const { root, name, disk, isWanted } = orphan
    disk.assertPrivate(join(root, name))
    const claim = await disk.adopt(join(root, name))
    if (claim === undefined) return undefined
    try {
      const files = await segmentsIn(root, name, disk)
      if (isWanted(bytesOf(files))) {
        return { directory: new SpoolDirectory({ ...orphan, claim, files, isKept: false }), files }
      }
    } catch (error) {
      claim.release()
      throw error
    }
    claim.release()
    return undefined
  }

  get path(): string {
    return this.#path
  }

  /** True if batches in this process need segments of the directory. */
  get isNeeded(): boolean {
    return this.#needed.size > 0
  }

  /** Segments that batches in this process need, oldest first. */
  get needed(): ReadonlySet<NeededSegment> {
    return this.#needed
  }

  get isReleased(): boolean {
    return this.#isReleased
  }

  /** True if the claim was lost: another process took the directory, or the directory was removed. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Returns the file name for the next segment. */
  nextSegment(): string {
    return segmentName(++this.#created)
  }

  /** Returns a key that sorts segments by age across all directories. It is also the path of the file in the spool. */
  orderOf(segment: string): string {
    return [this.name, segment].join('/') // a template would keep its parts: 70 bytes more for each of thousands
  }

  pathOf(order: string): string {
    return this.#root + sep + order // `join` reads every character, and the watch asks for thousands of paths a second
  }

  onCreated(): void {
    this.#segments++
  }

  onRemoved(): void {
    this.#segments--
    this.endWhenDone()
  }

  addNeeded(segment: NeededSegment): void {
    this.#needed.add(segment)
  }

  removeNeeded(segment: NeededSegment): void {
    this.#needed.delete(segment)
    this.endWhenDone()
  }

  /** True if the last renewal of the claim is more than `afterMs` ago. */
  isDue(afterMs: number): boolean {
    return monotonicMs() - this.#renewedAtMs > afterMs
  }

  /** Renews the claim. If the claim is lost, stops using the directory and leaves it as it is. */
  renew(): ClaimState {
    const state = this.#claim.renew()
    const now = monotonicMs()
    this.#renewedAtMs = now
    this.#isLost = state !== 'held'
    if (this.#isLost) this.#end()
    else if (now - this.#touchedAtMs >= touchEveryMs) {
      this.#touchedAtMs = now
      void this.#claim.touch()
    }
    return state
  }

  /** Releases the directory, so that another process can adopt it. */
  release(): void {
    this.#isKept = false
    this.#isToBeReleased = true
    this.endWhenDone()
  }

  /**
   * Ends the claim if the directory is empty, or if it was released and no batch in this process needs its segments. An
   * empty directory is removed. Does nothing while the directory is kept.
   */
  endWhenDone(): void {
    if (this.#isReleased || this.#isKept) return
    const isEmpty = this.#segments === 0
    if (!isEmpty && !(this.#isToBeReleased && this.#needed.size === 0)) return
    this.#end() // first, because Windows does not remove a directory with open files
    if (isEmpty) removeIfEmpty(this.#path, this.#disk)
  }

  #end(): void {
    this.#isReleased = true
    this.#claim.release()
    this.#onReleased(this)
  }
}

/**
 * Claims a new directory. If that fails, removes the directory: where no file can be locked, each attempt would leave one.
 *
 * @throws any error from the disk
 */
function claimNew(path: string, disk: Disk): Claim | undefined {
  let claim: Claim | undefined
  try {
    claim = disk.claim(path)
    return claim
  } finally {
    if (claim === undefined) removeIfEmpty(path, disk)
  }
}

function removeIfEmpty(path: string, disk: Disk): void {
  try {
    disk.removeDirectory(path)
  } catch {
    // The directory has a file of another program in it, or the disk fails. A directory left behind does no harm.
  }
}

/**
 * Returns the names of the directories in a spool, oldest first.
 *
 * @param onForeign called with the name of each directory of another user
 */
export async function directoriesIn(root: string, disk: Disk, onForeign?: (name: string) => void): Promise<string[]> {
  const entries = await disk.list(root, isDirectoryName, onForeign)
  return entries
    .filter(({ isDirectory }) => isDirectory)
    .map(({ name }) => name)
    .sort()
}

/** Returns the segments in a directory of a spool, oldest first. */
export async function segmentsIn(root: string, name: string, disk: Disk): Promise<SegmentFile[]> {
  const entries = await disk.list(join(root, name), isSegmentName)
  return entries.filter(entry => !entry.isDirectory).sort((one, other) => (one.name < other.name ? -1 : 1))
}

/**
 * Returns the segments in a directory of a spool, oldest first, or the reason why the directory cannot be read. One
 * unreadable directory must not hide the others.
 */
export async function readableSegmentsIn(root: string, name: string, disk: Disk): Promise<SegmentFile[] | string> {
  try {
    return await segmentsIn(root, name, disk)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error
    const code = systemCode(error as Error)
    return code === 'ENOENT' ? [] : `the directory cannot be read (${code})`
  }
}

/** The reason why the directory of another user is left out. */
export const ofAnotherUser = 'the directory belongs to another user'

/** Adds up the bytes of the files. Files too large to be read are left out, so that they do not use up the limit. */
function bytesOf(files: readonly SegmentFile[]): number {
  return files.reduce((sum, { bytes }) => sum + (bytes > maxSegmentBytes ? 0 : bytes), 0)
}
