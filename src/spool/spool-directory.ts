import { join } from 'node:path'
import { monotonicMs } from '../time.ts'
import type { Claim, ClaimState } from './claim.ts'
import type { Disk } from './disk.ts'
import { maxSegmentBytes } from './segment-format.ts'

/**
 * A directory's name is its creation time, random digits and a destination:
 * `20261121T104103Z-4f2a9c1b-https%3a%2f%2flogs.example.com%2f`. Sorted by name, older directories come first.
 *
 * The content is for that destination, whichever process adopts the directory. A name without a destination comes from
 * an older version, and fits any. Because the destination is in the name, no crash can separate it from the directory.
 */
const directoryName = /^\d{8}T\d{6}Z-[0-9a-f]{8}(?:-(?<destination>[\w.%-]+))?$/
/** Some file systems take names of at most 143 bytes. The time and the digits take 26 of them. */
const maxDestinationBytes = 110
const maxAttempts = 3
const touchEveryMs = 3_600_000
const segmentName = /^\d{12}\.segment$/

export interface SegmentFile {
  readonly name: string
  readonly bytes: number
}

/** A segment that a batch in this process needs. */
export interface HeldSegment {
  /** True if the file is gone, was replaced, or is shorter than the bytes written. */
  isGone(): boolean
  /** Treats the segment as gone. */
  vanish(): void
}

/** Called when a directory is no longer claimed. `directory.bytes` is the size of the segments still in it. */
export type OnReleased = (directory: SpoolDirectory) => void

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
  readonly #held = new Set<HeldSegment>()
  /** True while the directory stays even if it is empty. */
  #isKept: boolean
  #isToBeReleased = false
  #isReleased = false
  #isLost = false
  #renewedAtMs = monotonicMs()
  #touchedAtMs = monotonicMs()

  private constructor(
    root: string,
    name: string,
    disk: Disk,
    claim: Claim,
    files: readonly SegmentFile[],
    isKept: boolean,
    onReleased: OnReleased,
  ) {
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
   * @param destination escaped, as in directory names
   * @param random returns eight hexadecimal digits
   * @throws any error from the disk
   */
  static make(
    root: string,
    destination: string,
    disk: Disk,
    now: Date,
    random: () => string,
    onReleased: OnReleased,
  ): SpoolDirectory {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const time = now.toISOString().replace(/[-:]|\.\d+/g, '')
      const name = `${time}-${random()}-${destination}`
      const path = join(root, name)
      disk.assertPrivate(path)
      disk.makeDirectory(path)
      disk.assertPrivate(path) // again: another user may have created it since
      const claim = disk.claim(path)
      // Between the two calls, another process may have adopted the new directory as an orphan.
      if (claim !== undefined) return new SpoolDirectory(root, name, disk, claim, [], true, onReleased)
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
    root: string,
    name: string,
    disk: Disk,
    isWanted: (bytes: number) => boolean,
    onReleased: OnReleased,
  ): Promise<{ directory: SpoolDirectory; files: SegmentFile[] } | undefined> {
    disk.assertPrivate(join(root, name))
    const claim = await disk.adopt(join(root, name))
    if (claim === undefined) return undefined
    try {
      const files = await segmentsIn(root, name, disk)
      if (isWanted(bytesOf(files))) {
        return { directory: new SpoolDirectory(root, name, disk, claim, files, false, onReleased), files }
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

  get isHeld(): boolean {
    return this.#held.size > 0
  }

  /** Segments that batches in this process need, oldest first. */
  get held(): ReadonlySet<HeldSegment> {
    return this.#held
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
    return `${String(++this.#created).padStart(12, '0')}.segment`
  }

  /** Returns a key that sorts segments by age across all directories. It is also the path of the file in the spool. */
  orderOf(segment: string): string {
    return `${this.name}/${segment}`
  }

  pathOf(order: string): string {
    return join(this.#root, order)
  }

  onCreated(): void {
    this.#segments++
  }

  onRemoved(): void {
    this.#segments--
    this.endWhenDone()
  }

  hold(segment: HeldSegment): void {
    this.#held.add(segment)
  }

  letGo(segment: HeldSegment): void {
    this.#held.delete(segment)
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
    if (!isEmpty && !(this.#isToBeReleased && this.#held.size === 0)) return
    this.#end() // first, because Windows does not remove a directory with open files
    if (!isEmpty) return
    try {
      this.#disk.removeDirectory(this.#path)
    } catch {
      // The directory has a file of another program in it, or the disk fails. A directory left behind does no harm.
    }
  }

  #end(): void {
    this.#isReleased = true
    this.#claim.release()
    this.#onReleased(this)
  }
}

/** Returns a destination as it is written in directory names: escaped, or a SHA-256 hash if that is too long. */
export function nameOfDestination(destination: string): string {
  const escaped = destination.replace(/[^\w.-]/g, one => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
  if (escaped.length <= maxDestinationBytes) return escaped
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(destination).digest('hex')
}

/** Returns the destination in a directory's name for display; `undefined` if the name has none. */
export function destinationIn(name: string): string | undefined {
  const escaped = directoryName.exec(name)?.groups?.destination
  return escaped?.replace(/%([0-9a-f]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** True if the content of a directory is for this destination, given as in directory names. */
export function isFor(destination: string, name: string): boolean {
  const named = directoryName.exec(name)?.groups?.destination
  return named === undefined || named === destination
}

/** Returns the names of the directories in a spool, oldest first. */
export async function directoriesIn(root: string, disk: Disk): Promise<string[]> {
  const entries = await disk.list(root)
  return entries
    .filter(({ name, isDirectory }) => isDirectory && directoryName.test(name))
    .map(({ name }) => name)
    .sort()
}

/** Returns the segments in a directory of a spool, oldest first. */
export async function segmentsIn(root: string, name: string, disk: Disk): Promise<SegmentFile[]> {
  const entries = await disk.list(join(root, name))
  return entries
    .filter(entry => !entry.isDirectory && segmentName.test(entry.name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Adds up the bytes of the files. Files too large to be read are left out, so that they do not use up the limit. */
function bytesOf(files: readonly SegmentFile[]): number {
  return files.reduce((sum, { bytes }) => sum + (bytes > maxSegmentBytes ? 0 : bytes), 0)
}
