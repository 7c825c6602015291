import type { Copy, CopyContent } from '../batch/store.ts'
import type { Disk } from './disk.ts'
import { readSegment, recordBytes, type SegmentContent, writeEnd, writeRecord } from './segment-format.ts'
import type { SpoolDirectory } from './spool-directory.ts'

/** What segments share: the disk, how much of it may be used, and whom to tell when it fails. */
export interface SegmentParts {
  readonly disk: Disk
  /** Takes so many bytes of what may be used; `false` when there are not as many. */
  readonly takeBytes: (bytes: number) => boolean
  readonly onRemoved: (segment: Segment, bytes: number) => void
  /** All that a segment will ever hold could be written. */
  readonly onSealed: (segment: Segment) => void
  readonly onTrouble: (error: unknown) => void
}

/** Reading is tried so often; what cannot be read then is given up. */
const maxReads = 3
const newline = 0x0a
const noContent: SegmentContent = { dataset: undefined, lines: Buffer.alloc(0), severities: new Uint8Array(), lost: 0 }

/** Where records are put together; it grows to what the longest needs. One serves all, as nothing here waits. */
let scratch = Buffer.alloc(0)
const scratchBytes = 262_144

/** A batch as a file: one record for each line. It is removed when its lines are settled, and never changed otherwise. */
export class Segment implements Copy {
  readonly order: string
  readonly #parts: SegmentParts
  readonly #directory: SpoolDirectory
  readonly #path: string
  readonly #dataset: Uint8Array
  #bytes: number
  #file: number | undefined
  #count = 0
  #reads = 0
  #isComplete = true
  #isRemoved = false

  private constructor(parts: SegmentParts, directory: SpoolDirectory, name: string, dataset: string, bytes: number) {
    this.#parts = parts
    this.#directory = directory
    this.#path = directory.pathOf(name)
    this.#dataset = Buffer.from(dataset)
    this.#bytes = bytes
    this.order = `${directory.name}/${name}`
  }

  /**
   * Makes a file to write to.
   *
   * @throws what the disk throws
   */
  static create(parts: SegmentParts, directory: SpoolDirectory, dataset: string): Segment {
    const segment = new Segment(parts, directory, directory.nextSegment(), dataset, 0)
    segment.#file = parts.disk.create(segment.#path)
    directory.onCreated()
    return segment
  }

  /** One that is there already. */
  static at(parts: SegmentParts, directory: SpoolDirectory, name: string, bytes: number): Segment {
    return new Segment(parts, directory, name, '', bytes)
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  append(number: number, severity: number, lines: Buffer, from: number, to: number): void {
    if (this.#file === undefined) return
    const bytes = recordBytes(this.#dataset, to - from)
    makeScratch(bytes)
    this.#write(writeRecord(scratch, 0, this.#dataset, number, severity, lines, from, to))
    this.#count = number + 1
  }

  /** Adds lines of which each ends in a newline, and seals; whether all of it could be written. */
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

  async read(): Promise<CopyContent> {
    return (await this.readAll()) ?? noContent
  }

  /** What it holds; `undefined` when it cannot be read at all. */
  async readAll(): Promise<SegmentContent | undefined> {
    try {
      return readSegment(await this.#parts.disk.read(this.#path))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' && ++this.#reads < maxReads) throw error
      return undefined
    }
  }

  /** Resolves when it survives a failure of power, or cannot be made to. */
  async sync(): Promise<void> {
    try {
      await this.#parts.disk.sync(this.#path)
    } catch (error) {
      // Not tried again: the second answer of a disk that has failed once to do so means nothing.
      if (!this.#isRemoved) this.#parts.onTrouble(error)
    }
  }

  remove(): void {
    if (this.#isRemoved) return
    this.#isRemoved = true
    this.#close()
    try {
      this.#parts.disk.remove(this.#path)
    } catch (error) {
      this.#parts.onTrouble(error) // its lines will be sent once more, by who reads it next
      return
    }
    this.#parts.onRemoved(this, this.#bytes)
    this.#directory.onRemoved()
  }

  /** Writes what stands in the scratch, up to there. */
  #write(bytes: number): void {
    if (this.#file === undefined) return
    if (!this.#parts.takeBytes(bytes)) return this.#fail(undefined)
    this.#bytes += bytes
    try {
      const written = this.#parts.disk.write(this.#file, scratch, 0, bytes)
      if (written < bytes) throw Object.assign(new Error('the disk took only a part'), { code: 'ENOSPC' })
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#isComplete = false
    this.#close()
    if (error !== undefined) this.#parts.onTrouble(error)
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

function makeScratch(bytes: number): void {
  if (bytes > scratch.length) scratch = Buffer.allocUnsafeSlow(Math.max(bytes, scratchBytes))
}
