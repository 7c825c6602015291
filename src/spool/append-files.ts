import { type Disk, isOutOfDescriptors } from './disk.ts'

/**
 * How many file descriptors a spool holds, 16 in all:
 *
 *      2  the lock and the socket of its own directory
 *      1  `rejected.ndjson`
 *      2  the reserve
 *     11  the lock and the socket of each adopted directory, and the segments that are being written
 *
 * Reading, syncing and asking owners whether they live take up to four more, each for a moment.
 */
const maxSharedDescriptors = 11
/** For its lock and its socket. */
const descriptorsPerDirectory = 2
/** For the lock of the own directory and for one segment: enough to write everything that is pending. */
const reservedDescriptors = 2

export interface AppendFilesParts {
  readonly disk: Disk
  /** Directories that are adopted at the moment: each takes two descriptors of those that are shared. */
  readonly adoptedDirectories: () => number
}

/**
 * The files that a spool is writing. Any number may be open for lines; a bounded number of them has a descriptor. The one
 * that was written least recently gives its descriptor up, and is opened again when it is written next.
 *
 * Two descriptors are kept in reserve, for the moment in which the process has none left.
 */
export class AppendFiles {
  readonly #parts: AppendFilesParts
  /** Files that have a descriptor, the least recently written first. */
  readonly #open = new Set<AppendFile>()
  #last: AppendFile | undefined
  readonly #reserve: number[] = []

  constructor(parts: AppendFilesParts) {
    this.#parts = parts
    this.#fillReserve()
  }

  /** @throws what the disk throws */
  create(path: string): AppendFile {
    this.#fillReserve()
    this.makeRoom(1)
    const { disk } = this.#parts
    const file = new AppendFile(
      disk,
      path,
      this.withDescriptor(() => disk.create(path)),
      this,
    )
    this.#touch(file)
    return file
  }

  /**
   * Calls `open`, and calls it again with one descriptor of the spool's given up if the process has none left.
   *
   * @throws what `open` throws
   */
  withDescriptor<T>(open: () => T): T {
    for (;;) {
      try {
        return open()
      } catch (error) {
        if (!isOutOfDescriptors(error) || !(this.#suspendOldest() || this.#takeFromReserve())) throw error
      }
    }
  }

  /** Closes the descriptors that are too many once `more` are wanted. */
  makeRoom(more = 0): void {
    const max = maxSharedDescriptors - descriptorsPerDirectory * this.#parts.adoptedDirectories() - more
    while (this.#open.size > max && this.#suspendOldest());
  }

  /** Gives the reserve up until the next file is made. */
  releaseReserve(): void {
    while (this.#takeFromReserve());
  }

  /** @internal of AppendFile */
  onWriting(file: AppendFile): void {
    if (file !== this.#last) this.#touch(file)
  }

  /** @internal of AppendFile */
  onClosed(file: AppendFile): void {
    this.#open.delete(file)
    if (this.#last === file) this.#last = undefined
    this.#fillReserve() // before the application takes the descriptor
  }

  #touch(file: AppendFile): void {
    this.#open.delete(file)
    this.#open.add(file)
    this.#last = file
  }

  #suspendOldest(): boolean {
    const [oldest] = this.#open
    if (oldest === undefined) return false
    this.#open.delete(oldest)
    if (this.#last === oldest) this.#last = undefined
    oldest.suspend()
    return true
  }

  #takeFromReserve(): boolean {
    const descriptor = this.#reserve.pop()
    if (descriptor === undefined) return false
    try {
      this.#parts.disk.close(descriptor)
    } catch {
      // It is closed even then, and nothing was written to it.
    }
    return true
  }

  #fillReserve(): void {
    try {
      while (this.#reserve.length < reservedDescriptors) this.#reserve.push(this.#parts.disk.openNothing())
    } catch {
      // There is none to be had now.
    }
  }
}

/** A file that is written at its end alone. */
export class AppendFile {
  readonly #disk: Disk
  readonly #path: string
  readonly #files: AppendFiles
  #descriptor: number | undefined
  #identity: string | undefined
  #bytes = 0
  /** What closing its descriptor in between has thrown: some file systems tell only then what they could not write. */
  #trouble: unknown

  constructor(disk: Disk, path: string, descriptor: number, files: AppendFiles) {
    this.#disk = disk
    this.#path = path
    this.#descriptor = descriptor
    this.#files = files
    try {
      this.#identity = disk.identify(descriptor)
    } catch {
      // It is asked for once more when it is needed.
    }
  }

  /** As `Disk.stat` tells it; `undefined` where that could not be told, or once the file is closed. */
  get identity(): string | undefined {
    return this.#identity
  }

  /**
   * Writes the first `length` bytes at the end of the file: all of them, or none.
   *
   * @returns `false` if the file is gone
   * @throws what the disk throws
   */
  write(bytes: Uint8Array, length: number): boolean {
    const descriptor = this.#descriptorToWrite()
    if (descriptor === undefined) return false
    try {
      const written = this.#disk.write(descriptor, bytes, 0, length)
      if (written < length) throw Object.assign(new Error('the disk took only a part'), { code: 'ENOSPC' })
    } catch (error) {
      this.#cutTorn(descriptor)
      throw error
    }
    this.#bytes += length
    return true
  }

  /** @throws what the disk throws; it is closed even then */
  close(): void {
    const descriptor = this.#descriptor
    this.#descriptor = undefined
    this.#identity = undefined
    try {
      if (descriptor !== undefined) this.#disk.close(descriptor)
    } finally {
      this.#files.onClosed(this)
    }
    if (this.#trouble !== undefined) throw this.#trouble
  }

  /** @internal of AppendFiles */
  suspend(): void {
    const descriptor = this.#descriptor
    if (descriptor === undefined) return
    this.#descriptor = undefined
    try {
      this.#identity ??= this.#disk.identify(descriptor)
    } catch (error) {
      this.#trouble ??= error
    }
    try {
      this.#disk.close(descriptor)
    } catch (error) {
      this.#trouble ??= error
    }
  }

  #descriptorToWrite(): number | undefined {
    if (this.#trouble !== undefined) throw this.#trouble
    if (this.#descriptor === undefined && this.#identity !== undefined) {
      const identity = this.#identity
      this.#files.makeRoom(1)
      this.#descriptor = this.#files.withDescriptor(() => this.#disk.reopen(this.#path, identity))
    }
    if (this.#descriptor !== undefined) this.#files.onWriting(this)
    return this.#descriptor
  }

  /** A part of a record would be counted as lost by the process that reads it, and is accounted for here. */
  #cutTorn(descriptor: number): void {
    try {
      this.#disk.truncate(descriptor, this.#bytes)
    } catch {
      // Then it is counted twice.
    }
  }
}
