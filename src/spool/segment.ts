import type { Copy, CopyContent } from '../batch/store.ts'
import type { Disk } from './disk.ts'
import { readSegment, recordBytes, type SegmentContent, writeEnd, writeRecord } from './segment-format.ts'
import type { SpoolDirectory } from './spool-directory.ts'

/** What segments share: the disk, how much of it may be used, and whom to tell what becomes of them. */
export interface SegmentParts {
  readonly disk: Disk
  /** Takes so many bytes of what may be used; `false` when there are not as many. */
  readonly takeBytes: (bytes: number) => boolean
  readonly onRemoved: (segment: Segment, bytes: number) => void
  /** It could not be removed, and may be tried again. */
  readonly onUnremoved: (segment: Segment) => void
  /** It is another process's from now on. */
  readonly onLeft: (segment: Segment, lines: number) => void
  /** All that a segment will ever hold could be written. */
  readonly onSealed: (segment: Segment) => void
  readonly onTrouble: (error: unknown) => void
}

/** Reading is tried so often; what cannot be read then is given up. */
const maxReads = 3
/** Failures that say nothing of the file: there is no reading any file at the moment. */
const passing = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])
const newline = 0x0a
const noContent: SegmentContent = { dataset: undefined, lines: Buffer.alloc(0), severities: new Uint8Array(), lost: 0 }

/** Where records are put together; it grows to what the longest needs. One serves all, as nothing here waits. */
let scratch = Buffer.alloc(0)
const scratchBytes = 262_144

/**
 * A batch as a file: one record for each line. It is removed when its lines are settled, and never changed otherwise. A
 * batch holds it until it is removed or left.
 */
export class Segment implements Copy {
  readonly order: string
  readonly #parts: SegmentParts
  readonly #directory: SpoolDirectory
  readonly #path: string
  readonly #dataset: Uint8Array
  #bytes: number
  #file: number | undefined
  #writtenBytes = 0
  /** Lines in it. */
  #count = 0
  #reads = 0
  #isComplete = true
  #isHeld = false
  #isRemoved = false

  private constructor(
    parts: SegmentParts,
    directory: SpoolDirectory,
    name: string,
    dataset: Uint8Array,
    bytes: number,
  ) {
    this.#parts = parts
    this.#directory = directory
    this.#path = directory.pathOf(name)
    this.#dataset = dataset
    this.#bytes = bytes
    this.order = `${directory.name}/${name}`
  }

  /**
   * Makes a file to write to. So many bytes have been taken for it, the record of its end included; what is appended takes
   * its own.
   *
   * @throws what the disk throws
   */
  static create(parts: SegmentParts, directory: SpoolDirectory, dataset: Uint8Array, takenBytes: number): Segment {
    const segment = new Segment(parts, directory, directory.nextSegment(), dataset, takenBytes)
    segment.#file = parts.disk.create(segment.#path)
    directory.onCreated()
    directory.bytes += takenBytes
    segment.hold()
    return segment
  }

  /** One that is there already. */
  static at(parts: SegmentParts, directory: SpoolDirectory, name: string, bytes: number): Segment {
    return new Segment(parts, directory, name, new Uint8Array(), bytes)
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  get isThere(): boolean {
    return this.#parts.disk.has(this.#path)
  }

  get count(): number {
    return this.#count
  }

  append(number: number, severity: number, lines: Buffer, from: number, to: number): void {
    if (this.#file === undefined) return
    const bytes = recordBytes(this.#dataset, to - from)
    if (!this.#parts.takeBytes(bytes)) return this.#fail()
    this.#bytes += bytes
    this.#directory.bytes += bytes
    makeScratch(bytes)
    if (this.#write(writeRecord(scratch, 0, this.#dataset, number, severity, lines, from, to))) this.#count = number + 1
  }

  /** Adds lines of which each ends in a newline, for which bytes have been taken, and seals; whether all was written. */
  appendAll(lines: Buffer, severities: Uint8Array): boolean {
    let filled = 0
    let from = 0
    for (const severity of severities) {
      const to = lines.indexOf(newline, from) + 1
      const bytes = recordBytes(this.#dataset, to - from)
      if (filled + bytes > scratch.length) {
        this.#write(filled)
        filled = 0
        makeScratch(bytes)
      }
      filled = writeRecord(scratch, filled, this.#dataset, this.#count++, severity, lines, from, to)
      from = to
    }
    this.#write(filled)
    this.seal()
    return this.#isComplete
  }

  seal(): void {
    if (this.#file === undefined) return
    makeScratch(recordBytes(this.#dataset, 0))
    this.#write(writeEnd(scratch, 0, this.#dataset, this.#count))
    this.#close()
    if (this.#isComplete) this.#parts.onSealed(this)
  }

  /** What it holds: nothing, where there is no such file. */
  async readAll(): Promise<SegmentContent> {
    try {
      return this.#contentIn(await this.#parts.disk.read(this.#path))
    } catch (error) {
      return withoutFile(error)
    }
  }

  readNow(): CopyContent {
    try {
      return this.#contentIn(this.#parts.disk.readNow(this.#path))
    } catch (error) {
      return withoutFile(error)
    }
  }

  async read(): Promise<CopyContent> {
    try {
      return await this.readAll()
    } catch (error) {
      if (passing.has(codeOf(error)) || ++this.#reads < maxReads) throw error
      return noContent
    }
  }

  /** Resolves when it survives a failure of power, or cannot be made to. */
  async sync(): Promise<void> {
    try {
      await this.#parts.disk.sync(this.#path)
    } catch (error) {
      // Not tried again: the second answer of a disk that has failed once to do so means nothing. Where the file is gone, the
      // disk is well.
      if (codeOf(error) !== 'ENOENT') this.#parts.onTrouble(error)
    }
  }

  /** From now on a batch stands for it. */
  hold(): void {
    this.#isHeld = true
    this.#directory.hold()
  }

  leave(): void {
    this.seal()
    this.#parts.onLeft(this, this.#count)
    this.#letGo()
  }

  remove(): void {
    if (this.#isRemoved || this.#directory.isReleased) return
    this.#close()
    try {
      this.#parts.disk.remove(this.#path)
      this.#isRemoved = true
      this.#parts.onRemoved(this, this.#bytes)
      this.#directory.bytes -= this.#bytes
      this.#directory.onRemoved()
    } catch (error) {
      this.#parts.onTrouble(error)
      this.#parts.onUnremoved(this) // its lines are sent once more, by who reads it next
    }
    this.#letGo()
  }

  #letGo(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#directory.letGo()
  }

  #contentIn(bytes: Buffer): SegmentContent {
    const content = readSegment(bytes)
    this.#count = content.severities.length
    return content
  }

  /** Writes what stands in the scratch, up to there; whether it was written. */
  #write(bytes: number): boolean {
    if (this.#file === undefined || bytes === 0) return false
    try {
      const written = this.#parts.disk.write(this.#file, scratch, 0, bytes)
      if (written < bytes) throw Object.assign(new Error('the disk took only a part'), { code: 'ENOSPC' })
      this.#writtenBytes += bytes
      return true
    } catch (error) {
      this.#cutTorn(this.#file)
      this.#fail()
      this.#parts.onTrouble(error)
      return false
    }
  }

  /** A part of a record would be counted as lost by who reads it, and is accounted for here. */
  #cutTorn(file: number): void {
    try {
      this.#parts.disk.truncate(file, this.#writtenBytes)
    } catch {
      // Then it is counted twice.
    }
  }

  #fail(): void {
    this.#isComplete = false
    this.#close()
  }

  #close(): void {
    const file = this.#file
    if (file === undefined) return
    this.#file = undefined
    try {
      this.#parts.disk.close(file)
    } catch (error) {
      this.#isComplete = false
      this.#parts.onTrouble(error)
    }
  }
}

/** Where there is no file there is nothing in it; @throws any other error */
function withoutFile(error: unknown): SegmentContent {
  if (codeOf(error) === 'ENOENT') return noContent
  throw error
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

function makeScratch(bytes: number): void {
  if (bytes > scratch.length) scratch = Buffer.allocUnsafeSlow(Math.max(bytes, scratchBytes))
}
