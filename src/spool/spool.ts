import { join } from 'node:path'
import type { BatchStore, StoredBatch } from '../batch/batch-store.ts'
import { monotonicMs, queueMicrotask, setTimeout, systemTimeMs } from '../time.ts'
import { Adopter, type AdopterListeners } from './adoption.ts'
import { AppendFiles } from './append-files.ts'
import { type Disk, isPassing } from './disk.ts'
import { Segment, type SegmentParts } from './segment.ts'
import { segmentBytes } from './segment-format.ts'
import { nameOfDestination, SpoolDirectory } from './spool-directory.ts'
import { type Vanished, Watch } from './watch.ts'

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
  /** Files are gone. Batches that memory has are to be written again, and others are lost or another process's. */
  onVanished(vanished: Vanished): void
  /** `inherit` would find more now. */
  onMore(): void
}

const retryAfterMs = 30_000
const maxAloneMs = 1000
/** How long after a segment is written to it is made to survive a failure of power, if it is still there, in milliseconds. */
const syncAfterMs = 1000

/** The row of batches on disk: one file for each batch, in one directory for each process, in the directory of the spool. */
export class Spool implements BatchStore {
  readonly #options: SpoolOptions
  readonly #destination: string
  readonly #disk: Disk
  readonly #listeners: SpoolListeners
  readonly #parts: SegmentParts
  readonly #files: AppendFiles
  readonly #adopter: Adopter
  readonly #watch: Watch
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
  /** The same of the directories that `close` has left with something in them, by name, until another process has them. */
  readonly #left = new Map<string, number>()
  #leftBytes = 0

  constructor(options: SpoolOptions, disk: Disk, listeners: SpoolListeners) {
    this.#options = options
    this.#destination = nameOfDestination(options.destination)
    this.#disk = disk
    this.#listeners = listeners
    this.#files = new AppendFiles({ disk, adoptedDirectories: () => this.#adopter.directories.length })
    this.#parts = {
      disk,
      files: this.#files,
      takeBytes: bytes => this.#takeBytes(bytes),
      onRemoved: (segment, bytes) => {
        this.usedBytes -= bytes
        this.#unsynced.delete(segment)
        this.#unremoved.delete(segment)
        this.#adopter.onRemoved()
      },
      onUnremoved: segment => this.#unremoved.add(segment),
      onLeft: (segment, lines) => {
        this.#unsynced.delete(segment)
        this.#adopter.onLeft(segment, lines)
      },
      onWritten: segment => this.#onWritten(segment),
      onTrouble: error => this.#onTrouble(error),
    }
    this.#adopter = new Adopter({
      root: options.directory,
      destination: this.#destination,
      segments: this.#parts,
      isOwn: name => name === this.#own?.name,
      hasRoom: (bytes, name) => this.#countedBytes - (this.#left.get(name) ?? 0) + bytes <= options.maxBytes,
      onClaimed: ({ name, bytes }) => {
        this.#forgetLeft(name)
        this.usedBytes += bytes
        this.#files.makeRoom()
      },
      onNotClaimed: name => this.#forgetLeft(name),
      onReleased: this.#onReleased,
      onMore: listeners.onMore,
    })
    this.#watch = new Watch(
      () => (this.#own === undefined ? this.#adopter.directories : [this.#own, ...this.#adopter.directories]),
      vanished => listeners.onVanished(vanished),
    )
  }

  /** Whether the disk could not be used when it was last tried. */
  get isInTrouble(): boolean {
    return this.#isInTrouble
  }

  get isReady(): boolean {
    return monotonicMs() >= this.#notBeforeMs
  }

  open(dataset: string): StoredBatch | undefined {
    return this.#options.isWriteThrough ? this.#create(dataset, 0, 0) : undefined
  }

  write(dataset: string, lines: Buffer, severities: Uint8Array): StoredBatch | undefined {
    const segment = this.#create(dataset, severities.length, lines.length)
    if (segment?.appendAll(lines, severities)) return segment
    segment?.remove()
    return undefined
  }

  /**
   * Becomes the heir of what was left by processes that are no more, and reads it. Resolves when all that there is room for
   * has been told of: with `true` where there is more to come once that is delivered. Never rejects.
   */
  adoptOrphans(listeners: AdopterListeners): Promise<boolean> {
    this.#removeAgain()
    for (const name of this.#left.keys()) {
      if (this.#isGone(name)) this.#forgetLeft(name)
    }
    return this.#adopter.adoptOrphans({
      ...listeners,
      onAdopted: inherited => {
        listeners.onAdopted(inherited)
        this.#watch.start()
        this.#makeRoom(0)
      },
    })
  }

  /** Tries the disk again now, and looks what has become of that which is there, for there may be no later. */
  skipBackoff(): void {
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
    this.#watch.lookNow()
  }

  /** Lets go of every directory, and with it of what is left in there, for whoever comes next. */
  close(): void {
    this.#removeAgain()
    this.#unremoved.clear()
    this.#adopter.close()
    this.#own?.release()
    this.#own = undefined
    this.#files.releaseReserve()
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
    this.#watch.start()
    // Nothing looks after an empty one. If it is lost, nothing is lost with it.
    if (this.#own?.isHeld === false && this.#own.isDue(maxAloneMs)) this.#own.renew()
    this.#own ??= this.#makeDirectory()
    const own = this.#own
    try {
      return Segment.create(this.#parts, own, dataset, takenBytes)
    } catch (error) {
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT'
      const what = isGone ? own.renew() : 'held'
      if (what === 'held') throw error
      if (own.isHeld) queueMicrotask(() => this.#listeners.onVanished({ path: own.path, what }))
      this.#own = this.#makeDirectory()
      return Segment.create(this.#parts, this.#own, dataset, takenBytes)
    }
  }

  #makeDirectory(): SpoolDirectory {
    const { randomBytes } = process.getBuiltinModule('node:crypto') // only now: it takes 3 ms to load
    const random = () => randomBytes(4).toString('hex')
    const { directory } = this.#options
    const disk: Disk = { ...this.#disk, claim: path => this.#files.withDescriptor(() => this.#disk.claim(path)) }
    return SpoolDirectory.make(directory, this.#destination, disk, new Date(systemTimeMs()), random, this.#onReleased)
  }

  readonly #onReleased = (directory: SpoolDirectory): void => {
    const { name, bytes, isLost } = directory
    this.usedBytes -= bytes
    if (directory === this.#own) this.#own = undefined
    if (bytes === 0 || isLost) return
    this.#left.set(name, bytes)
    this.#leftBytes += bytes
  }

  #isGone(name: string): boolean {
    try {
      return this.#disk.stat(join(this.#options.directory, name)) === undefined
    } catch {
      return false // the disk cannot tell now
    }
  }

  #forgetLeft(name: string): void {
    this.#leftBytes -= this.#left.get(name) ?? 0
    this.#left.delete(name)
  }

  /** Bytes that count towards `maxBytes`. */
  get #countedBytes(): number {
    return this.usedBytes + this.#leftBytes
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
    while (bytes <= maxBytes && this.#countedBytes + bytes > maxBytes) if (!this.#listeners.makeRoom()) return false
    return bytes <= maxBytes
  }

  #removeAgain(): void {
    for (const segment of this.#unremoved) segment.remove()
  }

  #onWritten(segment: Segment): void {
    if (this.isReady) this.#isInTrouble = false
    this.#unsynced.add(segment)
    this.#syncTimer ??= setTimeout(() => this.#sync(), syncAfterMs).unref()
  }

  /** Most segments do not live so long as to come here. One at a time, and none of them holds up the end of the process. */
  async #sync(): Promise<void> {
    const [segment] = this.#unsynced
    if (segment !== undefined) this.#unsynced.delete(segment) // first: it may be written to meanwhile
    const isDone = segment === undefined || (await segment.sync())
    if (!isDone) this.#unsynced.add(segment)
    this.#syncTimer = undefined
    if (this.#unsynced.size > 0) this.#syncTimer = setTimeout(() => this.#sync(), isDone ? 0 : syncAfterMs).unref()
  }

  /**
   * Goes without the disk for a while, as nothing is tried again on the same file; but for want of a file descriptor only
   * this once.
   */
  #onTrouble(error: unknown): void {
    if (!isPassing(error)) this.#notBeforeMs = monotonicMs() + retryAfterMs
    if (this.#isInTrouble) return
    this.#isInTrouble = true
    this.#listeners.onTrouble(error)
  }
}
