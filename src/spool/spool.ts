import type { Copy, Store } from '../batch/store.ts'
import type { Disk } from './disk.ts'
import { Heir, type HeirListeners } from './heir.ts'
import { Segment, type SegmentParts } from './segment.ts'
import { segmentBytes } from './segment-format.ts'
import { nameOfDestination, SpoolDirectory } from './spool-directory.ts'

export interface SpoolOptions {
  readonly directory: string
  readonly maxBytes: number
  /** Where its events go: only who has the same inherits from another. */
  readonly destination: string
  /** Whether every line is written before its log call returns. */
  readonly isWriteThrough: boolean
}

/** What the spool tells its owner. */
export interface SpoolListeners {
  /** It is full: drops the oldest batch that is in it alone; `false` when there is none. */
  makeRoom(): boolean
  /** It cannot be written, and is not until it can be. Told once, until it could be written again. */
  onTrouble(error: unknown): void
  /** It is full, and nothing could be dropped. */
  onFull(): void
  /** `inherit` would find more now. */
  onMore(): void
}

const retryAfterMs = 30_000
/** How long after a segment is complete it is made to survive a failure of power, if it is still there, in milliseconds. */
const syncAfterMs = 1000

/** The row of batches on disk: one file for each batch, in one directory for each process, in the directory of the spool. */
export class Spool implements Store {
  readonly #options: SpoolOptions
  readonly #destination: string
  readonly #disk: Disk
  readonly #listeners: SpoolListeners
  readonly #parts: SegmentParts
  readonly #heir: Heir
  #own: SpoolDirectory | undefined
  /** What would be lost in a failure of power, oldest first. */
  readonly #unsynced = new Set<Segment>()
  #syncTimer: NodeJS.Timeout | undefined
  /** What is settled, and could not be removed yet. */
  readonly #unremoved = new Set<Segment>()
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #isInTrouble = false
  /** Bytes of the segments in the directories that are claimed. */
  usedBytes = 0

  constructor(options: SpoolOptions, disk: Disk, listeners: SpoolListeners) {
    this.#options = options
    this.#destination = nameOfDestination(options.destination)
    this.#disk = disk
    this.#listeners = listeners
    this.#parts = {
      disk,
      takeBytes: bytes => this.#takeBytes(bytes),
      onRemoved: (segment, bytes) => {
        this.usedBytes -= bytes
        this.#unsynced.delete(segment)
        this.#unremoved.delete(segment)
      },
      onUnremoved: segment => this.#unremoved.add(segment),
      onLeft: (segment, lines) => {
        this.#unsynced.delete(segment)
        this.#heir.onLeft(segment, lines)
      },
      onSealed: segment => this.#onSealed(segment),
      onTrouble: error => this.#onTrouble(error),
    }
    this.#heir = new Heir({
      root: options.directory,
      destination: this.#destination,
      segments: this.#parts,
      hasRoom: bytes => this.usedBytes + bytes <= options.maxBytes,
      onClaimed: ({ bytes }) => {
        this.usedBytes += bytes
      },
      onReleased: this.#onReleased,
      onMore: listeners.onMore,
    })
  }

  /** Whether the disk could not be used when it was last tried. */
  get isInTrouble(): boolean {
    return this.#isInTrouble
  }

  get isReady(): boolean {
    return performance.now() >= this.#notBeforeMs
  }

  open(dataset: string): Copy | undefined {
    return this.#options.isWriteThrough ? this.#create(dataset, 0, 0) : undefined
  }

  write(dataset: string, lines: Buffer, severities: Uint8Array): Copy | undefined {
    const segment = this.#create(dataset, severities.length, lines.length)
    if (segment?.appendAll(lines, severities)) return segment
    segment?.remove()
    return undefined
  }

  /**
   * Becomes the heir of what was left by processes that are no more, and reads it. Resolves when all that there is room for
   * has been told of: with `true` where there is more to come once that is delivered. Never rejects.
   */
  inherit(listeners: HeirListeners): Promise<boolean> {
    this.#removeAgain()
    return this.#heir.inherit({
      ...listeners,
      onInherited: inherited => {
        listeners.onInherited(inherited)
        this.#makeRoom(0)
      },
    })
  }

  /** Tries the disk again now, for there may be no later. */
  hurry(): void {
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
  }

  /** Lets go of every directory, and with it of what is left in there, for whoever comes next. */
  close(): void {
    this.#removeAgain()
    this.#unremoved.clear()
    this.#heir.close()
    this.#own?.release()
    this.#own = undefined
  }

  #create(dataset: string, lines: number, linesBytes: number): Segment | undefined {
    if (!this.isReady) return undefined
    const name = Buffer.from(dataset)
    const bytes = segmentBytes(name, lines, linesBytes)
    if (!this.#takeBytes(bytes)) return undefined
    try {
      return this.#createInOwn(name, bytes)
    } catch (error) {
      this.usedBytes -= bytes
      this.#onTrouble(error)
      return undefined
    }
  }

  #createInOwn(dataset: Uint8Array, takenBytes: number): Segment {
    const own = this.#own
    this.#own ??= this.#makeDirectory()
    try {
      return Segment.create(this.#parts, this.#own, dataset, takenBytes)
    } catch (error) {
      if (own === undefined || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      own.release() // somebody has removed it
      this.#own = this.#makeDirectory()
      return Segment.create(this.#parts, this.#own, dataset, takenBytes)
    }
  }

  #makeDirectory(): SpoolDirectory {
    const { randomBytes } = process.getBuiltinModule('node:crypto') // only now: it takes 3 ms to load
    const random = () => randomBytes(4).toString('hex')
    const { directory } = this.#options
    return SpoolDirectory.make(directory, this.#destination, this.#disk, new Date(), random, this.#onReleased)
  }

  readonly #onReleased = ({ bytes }: SpoolDirectory): void => {
    this.usedBytes -= bytes
  }

  #takeBytes(bytes: number): boolean {
    if (!this.#makeRoom(bytes)) {
      this.#listeners.onFull()
      return false
    }
    this.usedBytes += bytes
    return true
  }

  #makeRoom(bytes: number): boolean {
    const { maxBytes } = this.#options
    while (bytes <= maxBytes && this.usedBytes + bytes > maxBytes) if (!this.#listeners.makeRoom()) return false
    return bytes <= maxBytes
  }

  #removeAgain(): void {
    for (const segment of this.#unremoved) segment.remove()
  }

  #onSealed(segment: Segment): void {
    if (this.isReady) this.#isInTrouble = false
    this.#unsynced.add(segment)
    this.#syncTimer ??= setTimeout(() => this.#sync(), syncAfterMs).unref()
  }

  /** Most segments do not live so long as to come here. One at a time, and none of them holds up the end of the process. */
  async #sync(): Promise<void> {
    const [segment] = this.#unsynced
    this.#syncTimer = undefined
    if (segment === undefined) return
    this.#unsynced.delete(segment)
    await segment.sync()
    if (this.#unsynced.size > 0) this.#syncTimer ??= setTimeout(() => this.#sync(), 0).unref()
  }

  /** Goes without the disk for a while. Nothing is tried again on the same file. */
  #onTrouble(error: unknown): void {
    this.#notBeforeMs = performance.now() + retryAfterMs
    if (this.#isInTrouble) return
    this.#isInTrouble = true
    this.#listeners.onTrouble(error)
  }
}
