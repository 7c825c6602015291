import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Copy, Store } from '../batch/store.ts'
import type { Disk } from './disk.ts'
import { Segment, type SegmentParts } from './segment.ts'
import type { SegmentContent } from './segment-format.ts'
import { directoriesIn, SpoolDirectory } from './spool-directory.ts'

export interface SpoolOptions {
  readonly directory: string
  readonly maxBytes: number
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
}

/** What another process has left. */
export interface Inherited {
  readonly dataset: string
  readonly severities: Uint8Array
  /** Bytes of its lines. */
  readonly byteLength: number
  readonly copy: Copy
  /** Whether we have left it ourselves, by `close`. */
  readonly wasOurs: boolean
}

/** Lines that are damaged or missing; of which dataset, may not be known. */
export interface Lost {
  readonly count: number
  readonly dataset: string | undefined
  readonly wasOurs: boolean
}

/** What is told of what another process has left. */
export interface HeirListeners {
  onInherited(inherited: Inherited): void
  onLost(lost: Lost): void
}

const retryAfterMs = 30_000
const retryReadAfterMs = 100
/** How long after a segment is complete it is made to survive a failure of power, if it is still there, in milliseconds. */
const syncAfterMs = 1000

/** The row of batches on disk: one file for each batch, in one directory for each process, in the directory of the spool. */
export class Spool implements Store {
  readonly #options: SpoolOptions
  readonly #disk: Disk
  readonly #listeners: SpoolListeners
  readonly #parts: SegmentParts
  #own: SpoolDirectory | undefined
  readonly #inherited = new Set<SpoolDirectory>()
  /** Directories that `close` has left with segments of ours. */
  readonly #left = new Set<string>()
  #inheriting: Promise<void> | undefined
  /** What would be lost in a failure of power, oldest first. */
  readonly #unsynced = new Set<Segment>()
  #syncTimer: NodeJS.Timeout | undefined
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #isInTrouble = false
  usedBytes = 0

  constructor(options: SpoolOptions, disk: Disk, listeners: SpoolListeners) {
    this.#options = options
    this.#disk = disk
    this.#listeners = listeners
    this.#parts = {
      disk,
      takeBytes: bytes => this.#takeBytes(bytes),
      onRemoved: (segment, bytes) => {
        this.usedBytes -= bytes
        this.#unsynced.delete(segment)
      },
      onSealed: segment => this.#onSealed(segment),
      onTrouble: error => this.#onTrouble(error),
    }
  }

  get isInTrouble(): boolean {
    return this.#isInTrouble
  }

  open(dataset: string): Copy | undefined {
    return this.#options.isWriteThrough ? this.#create(dataset) : undefined
  }

  write(dataset: string, lines: Buffer, severities: Uint8Array): Copy | undefined {
    const segment = this.#create(dataset)
    if (segment === undefined) return undefined
    if (segment.appendAll(lines, severities)) return segment
    segment.remove()
    return undefined
  }

  /**
   * Becomes the heir of all that was left by processes that are no more, and reads it. Resolves when everything has been
   * told of. Never rejects.
   */
  inherit(listeners: HeirListeners): Promise<void> {
    this.#inheriting ??= this.#inheritAll(listeners).finally(() => {
      this.#inheriting = undefined
    })
    return this.#inheriting
  }

  /** Lets go of every directory, and with it of what is in there, for whoever comes next. */
  close(): void {
    for (const directory of [this.#own, ...this.#inherited]) {
      if (directory === undefined) continue
      this.#left.add(directory.name)
      directory.release()
    }
    this.#own = undefined
    this.#inherited.clear()
    this.#unsynced.clear()
    this.usedBytes = 0
  }

  async #inheritAll(listeners: HeirListeners): Promise<void> {
    const { directory: root } = this.#options
    try {
      for (const name of directoriesIn(root, this.#disk)) await this.#inheritFrom(root, name, listeners)
    } catch (error) {
      this.#onTrouble(error)
    }
  }

  async #inheritFrom(root: string, name: string, listeners: HeirListeners): Promise<void> {
    if (name === this.#own?.name || [...this.#inherited].some(directory => directory.name === name)) return
    const found = SpoolDirectory.inherit(root, name, this.#disk)
    if (found === undefined) return
    const wasOurs = this.#left.delete(name)
    const { directory, files } = found
    if (files.length > 0) this.#inherited.add(directory)
    for (const { name: file, bytes } of files) {
      this.usedBytes += bytes
      const segment = Segment.at(this.#parts, directory, file, bytes)
      const content = await readFirst(segment)
      if (!this.#inherited.has(directory)) return // closed meanwhile
      if (content !== undefined && content.lost > 0)
        listeners.onLost({ count: content.lost, dataset: content.dataset, wasOurs })
      if (content?.dataset === undefined) segment.remove()
      else {
        const { dataset, severities, lines } = content
        listeners.onInherited({ dataset, severities, byteLength: lines.length, copy: segment, wasOurs })
      }
    }
    this.#takeBytes(0)
  }

  #create(dataset: string): Segment | undefined {
    if (performance.now() < this.#notBeforeMs) return undefined
    try {
      this.#own ??= SpoolDirectory.make(this.#options.directory, this.#disk, new Date(), () =>
        randomBytes(4).toString('hex'),
      )
      return Segment.create(this.#parts, this.#own, dataset)
    } catch (error) {
      this.#onTrouble(error)
      return undefined
    }
  }

  #takeBytes(bytes: number): boolean {
    while (this.usedBytes + bytes > this.#options.maxBytes) {
      if (this.#listeners.makeRoom()) continue
      this.#listeners.onFull()
      return false
    }
    this.usedBytes += bytes
    return true
  }

  #onSealed(segment: Segment): void {
    this.#isInTrouble = false
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

/** Reads a segment, again where that fails for once. */
async function readFirst(segment: Segment): Promise<SegmentContent | undefined> {
  for (;;) {
    try {
      return await segment.readAll()
    } catch {
      await sleep(retryReadAfterMs)
    }
  }
}
