import { join } from 'node:path'
import type { BatchStore, StoredBatch } from '../batch/batch-store.ts'
import { monotonicMs, queueMicrotask, setTimeout, systemTimeMs } from '../time.ts'
import { Adopter, type AdopterListeners } from './adoption.ts'
import { AppendFiles } from './append-files.ts'
import { type Disk, isPassing } from './disk.ts'
import { nameOfDestination } from './file-names.ts'
import { Segment, type SegmentDeps } from './segment.ts'
import { nameBytes, segmentBytes } from './segment-format.ts'
import { SpoolDirectory } from './spool-directory.ts'
import { type Vanished, Watch } from './watch.ts'

interface SpoolOptions {
  readonly directory: string
  readonly maxBytes: number
  /** Destination of the events. A spool adopts only directories for the same destination. */
  readonly destination: string
  /** True if every line is written before its log call returns. */
  readonly isWriteThrough: boolean
}

/** Calls from the spool to its owner. */
interface SpoolListeners {
  /**
   * Called when the spool is full. Drops the oldest batch that is only in the spool; returns false if there is none.
   */
  makeRoom(): boolean
  /** Called when the disk cannot be used. Called again only after a write has succeeded in between. */
  onTrouble(error: unknown): void
  /** Called some time after trouble if every line is to be on disk. Lines that memory alone has must be written again. */
  onRetry(): void
  /** Called when the spool is full and no batch could be dropped. */
  onFull(): void
  /**
   * Called when files have vanished. Batches that memory has must be written again; others are lost, or another process
   * has them.
   */
  onVanished(vanished: Vanished): void
  /** Called when another call of `adoptOrphans` would find more. */
  onMore(): void
}

const retryAfterMs = 30_000
const maxAloneMs = 1000
/** Time from the write of a segment to its sync, in milliseconds. Most segments are removed sooner. */
const syncAfterMs = 1000
/** Age of a segment from which its lines are synced while it is open for more. Most segments are removed sooner. */
const syncOpenAfterMs = 2000

/** Keeps batches on disk: one file for each batch, in one directory for each process, in the directory of the spool. */
export class Spool implements BatchStore {
  readonly #options: SpoolOptions
  readonly #destination: string
  readonly #disk: Disk
  readonly #listeners: SpoolListeners
  readonly #deps: SegmentDeps
  readonly #files: AppendFiles
  readonly #adopter: Adopter
  readonly #watch: Watch
  #own: SpoolDirectory | undefined
  /** Segments that a power failure could lose, oldest first. */
  readonly #unsynced = new Set<Segment>()
  #syncTimer: NodeJS.Timeout | undefined
  /** Segments that were opened for lines of log calls, oldest first, with the monotonic time at which they were. */
  readonly #opened = new Map<Segment, number>()
  #openedTimer: NodeJS.Timeout | undefined
  /** Settled segments whose files could not be removed yet. */
  readonly #unremoved = new Set<Segment>()
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #isInTrouble = false
  #retryTimer: NodeJS.Timeout | undefined
  /** Bytes of the segments in the claimed directories. */
  usedBytes = 0
  /** Bytes of the directories that `close` released with segments in them, by name, until a process adopts them. */
  readonly #released = new Map<string, number>()
  #releasedBytes = 0

  constructor(options: SpoolOptions, disk: Disk, listeners: SpoolListeners) {
    this.#options = options
    this.#destination = nameOfDestination(options.destination)
    this.#disk = disk
    this.#listeners = listeners
    this.#files = new AppendFiles({ disk, adoptedDirectories: () => this.#adopter.directories.length })
    this.#deps = {
      disk,
      files: this.#files,
      chargeBytes: bytes => this.#chargeBytes(bytes),
      onRemoved: (segment, bytes) => {
        this.usedBytes -= bytes
        this.#unsynced.delete(segment)
        this.#opened.delete(segment)
        this.#unremoved.delete(segment)
        this.#adopter.onRemoved(segment)
      },
      onUnremoved: segment => this.#unremoved.add(segment),
      onHandedOff: (segment, lines) => {
        this.#unsynced.delete(segment)
        this.#adopter.onHandedOff(segment, lines)
      },
      onWritten: segment => this.#onWritten(segment),
      onAppended: () => this.#noteSuccess(),
      onTrouble: error => this.#onTrouble(error),
    }
    this.#adopter = new Adopter({
      root: options.directory,
      destination: this.#destination,
      segments: this.#deps,
      isOwn: name => name === this.#own?.name,
      hasRoom: (bytes, name) => this.#countedBytes - (this.#released.get(name) ?? 0) + bytes <= options.maxBytes,
      onClaimed: ({ name, bytes }) => {
        this.#forgetReleased(name)
        this.usedBytes += bytes
        this.#files.makeRoom()
      },
      onNotClaimed: name => this.#forgetReleased(name),
      onReleased: this.#onReleased,
      onMore: listeners.onMore,
    })
    this.#watch = new Watch(
      () => (this.#own === undefined ? this.#adopter.directories : [this.#own, ...this.#adopter.directories]),
      vanished => listeners.onVanished(vanished),
    )
  }

  /** True after the disk could not be used, until a write has succeeded. */
  get isInTrouble(): boolean {
    return this.#isInTrouble
  }

  /** True if batches need segments of adopted directories. */
  get hasAdopted(): boolean {
    return this.#adopter.directories.some(({ isNeeded }) => isNeeded)
  }

  get isReady(): boolean {
    return monotonicMs() >= this.#notBeforeMs
  }

  open(dataset: string): StoredBatch | undefined {
    const segment = this.#options.isWriteThrough ? this.#create(dataset, 0, 0) : undefined
    if (segment === undefined) return undefined
    this.#opened.set(segment, monotonicMs())
    this.#openedTimer ??= setTimeout(() => this.#syncOpened(), syncAfterMs).unref()
    return segment
  }

  write(dataset: string, lines: Buffer, severities: Uint8Array): StoredBatch | undefined {
    const segment = this.#create(dataset, severities.length, lines.length)
    if (segment?.appendAll(lines, severities)) return segment
    segment?.remove()
    return undefined
  }

  /**
   * Adopts directories without an owner, and reads their segments. Resolves when the listeners have been called for
   * every segment, as far as room allows. Never rejects.
   *
   * @returns true if more can be adopted once these segments are delivered
   */
  adoptOrphans(listeners: AdopterListeners): Promise<boolean> {
    this.#removeAgain()
    for (const name of this.#released.keys()) {
      if (this.#isGone(name)) this.#forgetReleased(name)
    }
    return this.#adopter.adoptOrphans({
      ...listeners,
      onAdopted: batches => {
        listeners.onAdopted(batches)
        this.#watch.start()
        this.#makeRoom(0)
      },
    })
  }

  /** Lets the disk be tried again now, and checks the claimed directories now: there may be no later chance. */
  skipBackoff(): void {
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
    this.#watch.renewNow()
  }

  /** Releases every directory with the segments left in it, so that another process can adopt it. */
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
    const bytes = segmentBytes(nameBytes(dataset), lines, linesBytes)
    if (!this.#chargeBytes(bytes)) return undefined
    try {
      return this.#createInOwn(dataset, bytes)
    } catch (error) {
      this.usedBytes -= bytes
      this.#onTrouble(error)
      return undefined
    }
  }

  #createInOwn(dataset: string, takenBytes: number): Segment {
    this.#watch.start()
    // The watch rests while no batch needs a segment, so the claim is renewed here. If it is lost, no event is lost.
    if (this.#own?.isNeeded === false && this.#own.isDue(maxAloneMs)) this.#own.renew()
    this.#own ??= this.#makeDirectory()
    const own = this.#own
    try {
      return Segment.create(this.#deps, own, dataset, takenBytes)
    } catch (error) {
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT'
      const what = isGone ? own.renew() : 'held'
      if (what === 'held') throw error
      if (own.isNeeded) queueMicrotask(() => this.#listeners.onVanished({ path: own.path, what }))
      this.#own = this.#makeDirectory()
      return Segment.create(this.#deps, this.#own, dataset, takenBytes)
    }
  }

  #makeDirectory(): SpoolDirectory {
    const { randomBytes } = process.getBuiltinModule('node:crypto') // loaded only now, as loading takes 3 ms
    const disk: Disk = { ...this.#disk, claim: path => this.#files.withDescriptor(() => this.#disk.claim(path)) }
    return SpoolDirectory.make({
      root: this.#options.directory,
      destination: this.#destination,
      disk,
      now: new Date(systemTimeMs()),
      random: () => randomBytes(4).toString('hex'),
      onReleased: this.#onReleased,
    })
  }

  readonly #onReleased = (directory: SpoolDirectory): void => {
    const { name, bytes, isLost } = directory
    this.usedBytes -= bytes
    if (directory === this.#own) this.#own = undefined
    if (bytes === 0 || isLost) return
    this.#released.set(name, bytes)
    this.#releasedBytes += bytes
  }

  #isGone(name: string): boolean {
    try {
      return this.#disk.stat(join(this.#options.directory, name)) === undefined
    } catch {
      return false // the disk gives no answer now
    }
  }

  #forgetReleased(name: string): void {
    this.#releasedBytes -= this.#released.get(name) ?? 0
    this.#released.delete(name)
  }

  /** Bytes that count towards `maxBytes`. */
  get #countedBytes(): number {
    return this.usedBytes + this.#releasedBytes
  }

  #chargeBytes(bytes: number): boolean {
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

  #noteSuccess(): void {
    if (this.#isInTrouble && this.isReady) this.#isInTrouble = false
  }

  #onWritten(segment: Segment): void {
    this.#noteSuccess()
    this.#unsynced.add(segment)
    this.#syncTimer ??= setTimeout(() => this.#sync(), syncAfterMs).unref()
  }

  /** Lets old segments be synced that still are open. An outage may keep a segment open for hours. */
  #syncOpened(): void {
    this.#openedTimer = undefined
    const openedBeforeMs = monotonicMs() - syncOpenAfterMs
    for (const [segment, openedAtMs] of this.#opened) {
      if (openedAtMs > openedBeforeMs) break
      if (!segment.isOpen) this.#opened.delete(segment)
      else if (segment.hasUnsynced) this.#onWritten(segment)
    }
    if (this.#opened.size > 0) this.#openedTimer = setTimeout(() => this.#syncOpened(), syncAfterMs).unref()
  }

  /**
   * Syncs one segment. Segments are synced one at a time, and no sync delays the end of the process. Most segments are
   * removed before their turn.
   */
  async #sync(): Promise<void> {
    const [segment] = this.#unsynced
    if (segment !== undefined) this.#unsynced.delete(segment) // before the sync, as lines may be written during it
    const isDone = segment === undefined || (await segment.sync())
    if (!isDone) this.#unsynced.add(segment)
    this.#syncTimer = undefined
    if (this.#unsynced.size > 0) this.#syncTimer = setTimeout(() => this.#sync(), isDone ? 0 : syncAfterMs).unref()
  }

  /**
   * Stops using the disk for `retryAfterMs`, because a file that failed is not written again. If the failure is only a
   * lack of file descriptors or memory, the disk stays in use.
   */
  #onTrouble(error: unknown): void {
    if (!isPassing(error)) this.#notBeforeMs = monotonicMs() + retryAfterMs
    if (this.#options.isWriteThrough) this.#retryLater()
    if (this.#isInTrouble) return
    this.#isInTrouble = true
    this.#listeners.onTrouble(error)
  }

  #retryLater(): void {
    const delayMs = this.isReady ? retryAfterMs : this.#notBeforeMs - monotonicMs()
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined
      if (this.isReady) this.#listeners.onRetry()
      else this.#retryLater()
    }, delayMs).unref()
  }
}
