import { isOutOfDescriptors } from '../text/out-of-descriptors.ts'
import type { Disk } from './disk.ts'

/**
 * The file descriptors that a spool keeps open, at most 16:
 *
 *      2  the lock and the socket of its own directory
 *      1  `rejected.ndjson`
 *      2  the reserve
 *     11  the lock and the socket of each adopted directory, and the segments being written
 *
 * Reading, syncing and checks for living owners take up to four more, each for a moment.
 */
const maxSharedDescriptors = 11
/** One for the lock of an adopted directory, and one for its socket. */
const descriptorsPerDirectory = 2
/** One for the lock of the own directory, and one for a segment: enough to write everything that is pending. */
const reservedDescriptors = 2

/** Number of times that a write waits, for a millisecond each, for a descriptor that a thread has taken from it. */
const maxWaits = 5

/** The owner of a file, which knows its path. */
interface FilePlace {
  readonly path: string
}

interface AppendFilesDeps {
  readonly disk: Disk
  /** Returns the number of directories adopted at the moment. Each takes two of the shared descriptors. */
  readonly adoptedDirectories: () => number
}

/**
 * The files that a spool is writing. Any number of files may be open for lines, but only a bounded number has a
 * descriptor. The least recently written file gives up its descriptor, and is reopened for its next write.
 *
 * Two descriptors are kept in reserve for the moment when the process has none left.
 */
export class AppendFiles {
  readonly #deps: AppendFilesDeps
  /** Files that have a descriptor, the least recently written first. */
  readonly #open = new Set<AppendFile>()
  #last: AppendFile | undefined
  readonly #reserve: number[] = []

  constructor(deps: AppendFilesDeps) {
    this.#deps = deps
    this.#fillReserve()
  }

  /**
   * @param place where the file is. It is asked for its path, because thousands of files may be open, and most never
   *   need their path again
   * @throws any error from the disk
   */
  create(place: FilePlace): AppendFile {
    this.#fillReserve()
    this.makeRoom(1)
    const { disk } = this.#deps
    const { path } = place
    const file = new AppendFile(
      disk,
      place,
      this.withDescriptor(() => disk.create(path)),
      this,
    )
    this.#touch(file)
    return file
  }

  /**
   * Calls `open`. While the process has no descriptor left, gives up one descriptor of the spool and calls `open`
   * again. If a thread of the process has taken the last one that was given up, waits for a moment: listing a directory,
   * for example, needs a descriptor no longer than that.
   *
   * @throws any error from `open`
   */
  withDescriptor<T>(open: () => T): T {
    for (let waits = 0; ; ) {
      try {
        return open()
      } catch (error) {
        if (!isOutOfDescriptors(error)) throw error
        if (this.#suspendOldest() || this.#takeFromReserve()) waits = maxWaits
        else if (waits-- > 0) waitOneMs()
        else throw error
      }
    }
  }

  /** Closes the least recently written files until `more` shared descriptors are free. */
  makeRoom(more = 0): void {
    const max = maxSharedDescriptors - descriptorsPerDirectory * this.#deps.adoptedDirectories() - more
    while (this.#open.size > max && this.#suspendOldest());
  }

  /** Gives up the reserve until the next file is created. */
  releaseReserve(): void {
    while (this.#takeFromReserve());
  }

  /** @internal called by `AppendFile` before each write */
  onWriting(file: AppendFile): void {
    if (file !== this.#last) this.#touch(file)
  }

  /** @internal called by `AppendFile` when a file is closed */
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
      this.#deps.disk.close(descriptor)
    } catch {
      // A descriptor is closed even if `close` fails, and nothing was written to this one.
    }
    return true
  }

  #fillReserve(): void {
    try {
      while (this.#reserve.length < reservedDescriptors) this.#reserve.push(this.#deps.disk.openNothing())
    } catch {
      // No descriptor is available now.
    }
  }
}

/** A file that is only written at its end. */
export class AppendFile {
  readonly #disk: Disk
  readonly #place: FilePlace
  readonly #files: AppendFiles
  #descriptor: number | undefined
  #identity: string | undefined
  #bytes = 0
  /** The first error of `suspend`. Some file systems report a failed write only when the descriptor is closed. */
  #trouble: unknown

  constructor(disk: Disk, place: FilePlace, descriptor: number, files: AppendFiles) {
    this.#disk = disk
    this.#place = place
    this.#descriptor = descriptor
    this.#files = files
    try {
      this.#identity = disk.identify(descriptor)
    } catch {
      // `suspend` asks for the identity again.
    }
  }

  /** Identity of the file, as `Disk.stat` gives it; `undefined` if the disk gave none, or once the file is closed. */
  get identity(): string | undefined {
    return this.#identity
  }

  /**
   * Writes the first `length` bytes at the end of the file: all of them, or none.
   *
   * @returns false if the file is gone
   * @throws any error from the disk
   */
  write(bytes: Uint8Array, length: number): boolean {
    const descriptor = this.#descriptorToWrite()
    if (descriptor === undefined) return false
    try {
      // A write may take only a part, for example if a signal interrupts it. The next write shows if the disk has a
      // problem.
      for (let at = 0; at < length; ) {
        const written = this.#disk.write(descriptor, bytes, at, length)
        if (written === 0) throw Object.assign(new Error('the disk took only a part of the data'), { code: 'ENOSPC' })
        at += written
      }
    } catch (error) {
      this.#cutTorn(descriptor)
      throw error
    }
    this.#bytes += length
    return true
  }

  /** @throws any error from the disk; the file is closed even then */
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

  /** @internal called by `AppendFiles` to free the descriptor until the next write */
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
      const written = { identity: this.#identity, bytes: this.#bytes }
      this.#files.makeRoom(1)
      this.#descriptor = this.#files.withDescriptor(() => this.#disk.reopen(this.#place.path, written))
    }
    if (this.#descriptor !== undefined) this.#files.onWriting(this)
    return this.#descriptor
  }

  /**
   * Cuts off a partly written record. This process accounts for the line, but a process that reads the file would count
   * the partial record as lost.
   */
  #cutTorn(descriptor: number): void {
    try {
      this.#disk.truncate(descriptor, this.#bytes)
    } catch {
      // The line is then counted twice.
    }
  }
}

function waitOneMs(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
}
