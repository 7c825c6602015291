import { join } from 'node:path'
import { monotonicMs } from '../time.ts'
import type { Claim, ClaimState } from './claim.ts'
import type { Disk } from './disk.ts'
import { maxSegmentBytes } from './segment-format.ts'

/**
 * `20261121T104103Z-4f2a9c1b-https%3a%2f%2flogs.example.com%2f`: in the order of their names, the older directory comes first.
 * What it holds is for the destination at the end, of whatever process; without one it was made before there were any.
 * In the name it is there as soon as the directory, and no crash can part them.
 */
const directoryName = /^\d{8}T\d{6}Z-[0-9a-f]{8}(?:-(?<destination>[\w.%-]+))?$/
/** Some file systems take names of no more than 143 bytes. */
const maxDestinationBytes = 110
const maxAttempts = 3
const touchEveryMs = 3_600_000
const segmentName = /^\d{12}\.segment$/

export interface SegmentFile {
  readonly name: string
  readonly bytes: number
}

/** What a batch in this process stands for. */
export interface HeldSegment {
  /** True if its file is gone, or is another, or shorter than what was written. */
  isGone(): boolean
  /** Counts it as gone. */
  vanish(): void
}

/** Called when a directory is claimed no more, with the bytes that are still in it. */
export type OnReleased = (directory: SpoolDirectory) => void

/**
 * The directory of one process in the spool, for as long as it is claimed. It goes with its last segment. Once it is to be
 * released, it is when nobody here needs a segment of it any more.
 */
export class SpoolDirectory {
  readonly name: string
  /** Bytes of its segments. */
  bytes: number
  readonly #root: string
  readonly #path: string
  readonly #disk: Disk
  readonly #claim: Claim
  readonly #onReleased: OnReleased
  #created = 0
  #segments: number
  readonly #held = new Set<HeldSegment>()
  /** Whether it stays while there is nothing in it. */
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
   * A new one.
   *
   * @param destination as in names
   * @param random eight hexadecimal digits
   * @throws what the disk throws
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
      disk.assertPrivate(path) // once more: what was not there yet may have been put there by another user
      const claim = disk.claim(path)
      // An heir may have been there between the two calls, and have taken it for one that is left.
      if (claim !== undefined) return new SpoolDirectory(root, name, disk, claim, [], true, onReleased)
    }
    throw new Error('no file can be locked there')
  }

  /**
   * Claims one that is left by its process; `undefined` while it has not left it, or another heir has come first, or where
   * its bytes are not wanted.
   *
   * @throws what the disk throws
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

  /** Segments that a batch in this process stands for, oldest first. */
  get held(): ReadonlySet<HeldSegment> {
    return this.#held
  }

  get isReleased(): boolean {
    return this.#isReleased
  }

  /** Whether it was not released but taken by another process, or removed. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Where the next segment is to be made. */
  nextSegment(): string {
    return `${String(++this.#created).padStart(12, '0')}.segment`
  }

  /** Stands for the age of a segment among those of every directory. */
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

  /** True if its claim has not been renewed for so long. */
  isDue(afterMs: number): boolean {
    return monotonicMs() - this.#renewedAtMs > afterMs
  }

  /** Renews the claim. If it is lost, this process lets go of the directory as it is. */
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

  /** Lets go of it, for whoever comes next. */
  release(): void {
    this.#isKept = false
    this.#isToBeReleased = true
    this.endWhenDone()
  }

  /** Ends when there is nothing in it, or when nothing in it is needed here any more and it is to be released. */
  endWhenDone(): void {
    if (this.#isReleased || this.#isKept) return
    const isEmpty = this.#segments === 0
    if (!isEmpty && !(this.#isToBeReleased && this.#held.size === 0)) return
    this.#end() // first, as Windows does not remove what is open
    if (!isEmpty) return
    try {
      this.#disk.removeDirectory(this.#path)
    } catch {
      // Something of somebody else's is in it, or the disk fails; an empty directory does no harm.
    }
  }

  #end(): void {
    this.#isReleased = true
    this.#claim.release()
    this.#onReleased(this)
  }
}

/** A destination as it stands in the names of directories: of one that is too long, a hash. */
export function nameOfDestination(destination: string): string {
  const escaped = destination.replace(/[^\w.-]/g, one => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`)
  if (escaped.length <= maxDestinationBytes) return escaped
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update(destination).digest('hex')
}

/** The destination in the name of a directory, for people to read; `undefined` where there is none. */
export function destinationIn(name: string): string | undefined {
  const escaped = directoryName.exec(name)?.groups?.destination
  return escaped?.replace(/%([0-9a-f]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** Whether what is in a directory is to be sent to that destination, as in names. */
export function isFor(destination: string, name: string): boolean {
  const named = directoryName.exec(name)?.groups?.destination
  return named === undefined || named === destination
}

/** The names of the directories in a spool, oldest first. */
export async function directoriesIn(root: string, disk: Disk): Promise<string[]> {
  const entries = await disk.list(root)
  return entries
    .filter(({ name, isDirectory }) => isDirectory && directoryName.test(name))
    .map(({ name }) => name)
    .sort()
}

/** The segments in a directory of a spool, oldest first. */
export async function segmentsIn(root: string, name: string, disk: Disk): Promise<SegmentFile[]> {
  const entries = await disk.list(join(root, name))
  return entries
    .filter(entry => !entry.isDirectory && segmentName.test(entry.name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Files that will not be read must not take the room of others. */
function bytesOf(files: readonly SegmentFile[]): number {
  return files.reduce((sum, { bytes }) => sum + (bytes > maxSegmentBytes ? 0 : bytes), 0)
}
