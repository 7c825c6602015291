import { join } from 'node:path'
import type { Claim, Disk } from './disk.ts'

/** `20261121T104103Z-4f2a9c1b`: in the order of their names, the older directory comes first. */
const directoryName = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/
const maxAttempts = 3
const segmentName = /^\d{8}\.segment$/

export interface SegmentFile {
  readonly name: string
  readonly bytes: number
}

/** The directory of one process in the spool, for as long as it is claimed. It goes with its last segment. */
export class SpoolDirectory {
  readonly name: string
  readonly #path: string
  readonly #disk: Disk
  readonly #claim: Claim
  #created = 0
  #segments: number
  /** Whether it stays while there is nothing in it. */
  #isKept: boolean
  #isReleased = false

  private constructor(root: string, name: string, disk: Disk, claim: Claim, segments: number, isKept: boolean) {
    this.name = name
    this.#path = join(root, name)
    this.#disk = disk
    this.#claim = claim
    this.#segments = segments
    this.#isKept = isKept
  }

  /**
   * A new one.
   *
   * @param random eight hexadecimal digits
   * @throws what the disk throws
   */
  static make(root: string, disk: Disk, now: Date, random: () => string): SpoolDirectory {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const time = now.toISOString().replace(/[-:]|\.\d+/g, '')
      const name = `${time}-${random()}`
      disk.makeDirectory(join(root, name))
      const claim = disk.claim(join(root, name))
      // An heir may have been there between the two calls, and have taken it for one that is left.
      if (claim !== undefined) return new SpoolDirectory(root, name, disk, claim, 0, true)
    }
    throw new Error('no file can be locked there')
  }

  /** Claims one that is left by its process; `undefined` while it has not left it, or another heir has come first. */
  static inherit(
    root: string,
    name: string,
    disk: Disk,
  ): { directory: SpoolDirectory; files: SegmentFile[] } | undefined {
    const claim = disk.claim(join(root, name))
    if (claim === undefined) return undefined
    try {
      const files = segmentsIn(root, name, disk)
      const directory = new SpoolDirectory(root, name, disk, claim, files.length, false)
      directory.#endWhenEmpty()
      return { directory, files }
    } catch (error) {
      claim.release()
      throw error
    }
  }

  /** Where the next segment is to be made. */
  nextSegment(): string {
    return `${String(++this.#created).padStart(8, '0')}.segment`
  }

  pathOf(segment: string): string {
    return join(this.#path, segment)
  }

  onCreated(): void {
    this.#segments++
  }

  onRemoved(): void {
    this.#segments--
    this.#endWhenEmpty()
  }

  /** Lets go of it, for whoever comes next. */
  release(): void {
    this.#isKept = false
    this.#endWhenEmpty()
    this.#releaseClaim()
  }

  #endWhenEmpty(): void {
    if (this.#segments > 0 || this.#isKept || this.#isReleased) return
    this.#releaseClaim() // first, as Windows does not remove what is open
    try {
      this.#disk.removeDirectory(this.#path)
    } catch {
      // Something of somebody else's is in it, or the disk fails; an empty directory does no harm.
    }
  }

  #releaseClaim(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#claim.release()
  }
}

/** The names of the directories in a spool, oldest first. */
export function directoriesIn(root: string, disk: Disk): string[] {
  return disk
    .list(root)
    .filter(({ name, isDirectory }) => isDirectory && directoryName.test(name))
    .map(({ name }) => name)
    .sort()
}

/** The segments in a directory of a spool, oldest first. */
export function segmentsIn(root: string, name: string, disk: Disk): SegmentFile[] {
  return disk
    .list(join(root, name))
    .filter(entry => !entry.isDirectory && segmentName.test(entry.name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}
