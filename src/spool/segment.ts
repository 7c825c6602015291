import type { StoredBatch, StoredContent } from '../batch/batch-store.ts'
import type { AppendFile, AppendFiles } from './append-files.ts'
import { type Disk, type FileState, isPassing } from './disk.ts'
import { whyNoEvent } from './event-line.ts'
import {
  maxSegmentBytes,
  type Refusal,
  readSegment,
  recordBytes,
  type SegmentContent,
  SegmentReader,
  writeEnd,
  writeRecord,
} from './segment-format.ts'
import type { HeldSegment, SpoolDirectory } from './spool-directory.ts'

/** What segments share: the disk, how much of it may be used, and whom to tell what becomes of them. */
export interface SegmentParts {
  readonly disk: Disk
  readonly files: AppendFiles
  /** Takes so many bytes of what may be used; `false` when there are not as many. */
  readonly takeBytes: (bytes: number) => boolean
  readonly onRemoved: (segment: Segment, bytes: number) => void
  /** It could not be removed, and may be tried again. */
  readonly onUnremoved: (segment: Segment) => void
  /** It is another process's from now on. */
  readonly onLeft: (segment: Segment, lines: number) => void
  /** Lines were written that a failure of power would take. */
  readonly onWritten: (segment: Segment) => void
  readonly onTrouble: (error: unknown) => void
}

/** Reading is tried so often; what cannot be read then is given up. */
const maxReads = 3
const newline = 0x0a
/** In place of the dataset of a segment that is never written. */
const noDataset = new Uint8Array()
const noContent: SegmentContent = {
  dataset: undefined,
  lines: Buffer.alloc(0),
  severities: new Uint8Array(),
  lost: 0,
  refused: [],
}

/** Where records are put together; it grows to what the longest needs. One serves all, as nothing here waits. */
let scratch = Buffer.alloc(0)
const scratchBytes = 262_144

/**
 * A batch as a file: one record for each line. It is removed when its lines are settled, and never changed otherwise. A
 * batch holds it until it is removed or left.
 */
export class Segment implements StoredBatch, HeldSegment {
  readonly order: string
  readonly #parts: SegmentParts
  readonly #directory: SpoolDirectory
  readonly #dataset: Uint8Array
  #bytes: number
  #file: AppendFile | undefined
  #writtenBytes = 0
  /** Lines in it. */
  #count = 0
  #reads = 0
  #isComplete = true
  #isHeld = false
  #isRemoved = false
  /** Places in the file of intact records that must not be sent, if there are any. */
  #refusedAt: Set<number> | undefined
  #hasVanished = false
  #isSealed = false
  /** Of its file; `undefined` where that could not be told. */
  #identity: string | undefined

  private constructor(
    parts: SegmentParts,
    directory: SpoolDirectory,
    name: string,
    dataset: Uint8Array,
    bytes: number,
  ) {
    this.#parts = parts
    this.#directory = directory
    this.#dataset = dataset
    this.#bytes = bytes
    this.order = directory.orderOf(name)
  }

  /**
   * Makes a file to write to. So many bytes have been taken for it, the record of its end included; what is appended takes
   * its own.
   *
   * @throws what the disk throws
   */
  static create(parts: SegmentParts, directory: SpoolDirectory, dataset: Uint8Array, takenBytes: number): Segment {
    const segment = new Segment(parts, directory, directory.nextSegment(), dataset, takenBytes)
    segment.#file = parts.files.create(segment.#path)
    segment.#identity = segment.#file.identity
    directory.onCreated()
    directory.bytes += takenBytes
    segment.hold()
    return segment
  }

  /** One that is there already. */
  static at(parts: SegmentParts, directory: SpoolDirectory, name: string, bytes: number): Segment {
    const segment = new Segment(parts, directory, name, noDataset, bytes)
    segment.#writtenBytes = bytes
    segment.#isSealed = true
    segment.#identity = segment.#look()?.identity
    return segment
  }

  get #path(): string {
    return this.#directory.pathOf(this.order)
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  get isOpen(): boolean {
    return !this.#isSealed
  }

  get exists(): boolean {
    return !this.hasVanished && this.#isAsWritten(this.#look())
  }

  get #isExtendible(): boolean {
    return !this.#isSealed && this.#isComplete && this.#file !== undefined && !this.hasVanished
  }

  get hasVanished(): boolean {
    return this.#hasVanished || this.#directory.isReleased
  }

  isGone(): boolean {
    try {
      return this.#isHeld && !this.#isAsWritten(this.#parts.disk.stat(this.#path))
    } catch {
      return false // the disk cannot tell now
    }
  }

  get count(): number {
    return this.#count
  }

  append(number: number, severity: number, lines: Buffer, from: number, to: number): void {
    if (this.#file === undefined || this.hasVanished) return
    const bytes = recordBytes(this.#dataset, to - from)
    if (!this.#parts.takeBytes(bytes)) return this.#fail()
    this.#bytes += bytes
    this.#directory.bytes += bytes
    makeScratch(bytes)
    if (this.#write(writeRecord(scratch, 0, this.#dataset, number, severity, lines, from, to))) this.#count = number + 1
  }

  extend(severity: number, lines: Buffer, from: number, to: number): boolean {
    const bytes = recordBytes(this.#dataset, to - from)
    if (!this.#isExtendible || !this.#parts.takeBytes(bytes)) return false
    this.#bytes += bytes
    this.#directory.bytes += bytes
    makeScratch(bytes)
    writeRecord(scratch, 0, this.#dataset, this.#count, severity, lines, from, to)
    try {
      if (this.#file?.write(scratch, bytes)) {
        this.#writtenBytes += bytes
        this.#count++
        this.#parts.onWritten(this)
        return true
      }
    } catch (error) {
      this.#parts.onTrouble(error)
    }
    this.#isSealed = true // it has every line that it was given before
    this.#close()
    return false
  }

  /** Adds lines of which each ends in a newline, for which bytes have been taken; whether all was written. */
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
    if (this.#isComplete) this.#parts.onWritten(this)
    return this.#isComplete
  }

  seal(): void {
    this.#isSealed = true
    if (this.#file === undefined) return
    makeScratch(recordBytes(this.#dataset, 0))
    this.#write(writeEnd(scratch, 0, this.#dataset, this.#count))
    this.#close()
    if (this.#isComplete) this.#parts.onWritten(this)
  }

  /**
   * Reads what another process has written: nothing, if there is no such file. Each line is checked once, and the lines that
   * must not be sent are left out from then on.
   *
   * @param rest called between records, as checking a line takes longer than all else; waited for if it returns a promise
   * @throws what reading throws
   */
  async adopt(rest: () => Promise<void> | undefined): Promise<SegmentContent> {
    if (this.hasVanished) return noContent // what stands there now is not ours
    if (this.#bytes > maxSegmentBytes) throw Object.assign(new Error('it is too large'), { code: 'EFBIG' })
    try {
      this.#refusedAt = undefined
      const reader = new SegmentReader(await this.#parts.disk.read(this.#path), record => {
        const reason = whyNoEvent(record)
        if (reason === undefined) return undefined
        this.#refusedAt ??= new Set()
        this.#refusedAt.add(record.at)
        return reason
      })
      while (reader.step()) {
        const resting = rest()
        if (resting !== undefined) await resting
      }
      return this.#counted(reader.content())
    } catch (error) {
      return withoutFile(error)
    }
  }

  readNow(): StoredContent {
    if (this.hasVanished) return noContent
    try {
      return this.#contentIn(this.#parts.disk.readNow(this.#path))
    } catch (error) {
      return withoutFile(error)
    }
  }

  async read(): Promise<StoredContent> {
    if (this.hasVanished) return noContent
    try {
      return this.#contentIn(await this.#parts.disk.read(this.#path))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return noContent
      if (isPassing(error) || ++this.#reads < maxReads) throw error
      return noContent
    }
  }

  /** Resolves when it survives a failure of power, or cannot be made to: with `false` if that is to be tried again. */
  async sync(): Promise<boolean> {
    if (this.hasVanished) return true
    try {
      await this.#parts.disk.sync(this.#path)
    } catch (error) {
      if (isPassing(error)) return false
      // Not tried again: the second answer of a disk that has failed once to do so means nothing. Where the file is gone, the
      // disk is well.
      if (codeOf(error) !== 'ENOENT') this.#parts.onTrouble(error)
    }
    return true
  }

  /** From now on a batch stands for it. */
  hold(): void {
    this.#isHeld = true
    this.#directory.hold(this)
  }

  handOff(): void {
    this.seal()
    this.#parts.onLeft(this, this.#count)
    this.#letGo()
  }

  remove(): void {
    if (this.#isRemoved) return
    this.#close()
    if (this.#directory.isReleased) return this.#parts.onRemoved(this, 0) // its bytes went with the directory
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

  vanish(): void {
    this.#hasVanished = true
    this.#isRemoved = true
    this.#close()
    this.#isComplete = false
    this.#parts.onRemoved(this, this.#bytes)
    this.#directory.bytes -= this.#bytes
    this.#directory.onRemoved()
    this.#letGo()
  }

  #look(): FileState | undefined {
    try {
      return this.#parts.disk.stat(this.#path)
    } catch {
      return undefined
    }
  }

  /** A number of a file may be given to another once it is free, so that its length is compared as well. */
  #isAsWritten(state: FileState | undefined): boolean {
    if (state === undefined || state.bytes < this.#writtenBytes) return false
    return this.#identity === undefined || state.identity === this.#identity
  }

  #letGo(): void {
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#directory.letGo(this)
  }

  #contentIn(bytes: Buffer): SegmentContent {
    const refused = this.#refusedAt
    const refusal: Refusal | undefined = refused && (({ at }) => (refused.has(at) ? 'as before' : undefined))
    return this.#counted(readSegment(bytes, refusal))
  }

  #counted(content: SegmentContent): SegmentContent {
    this.#count = content.severities.length
    return content
  }

  /** Writes what stands in the scratch, up to there; whether it was written. */
  #write(bytes: number): boolean {
    if (this.hasVanished) this.#fail() // another process may be reading it
    if (this.#file === undefined || bytes === 0) return false
    try {
      if (this.#file.write(scratch, bytes)) {
        this.#writtenBytes += bytes
        return true
      }
      this.#fail() // the file is gone, which is no trouble of the disk's
    } catch (error) {
      this.#fail()
      this.#parts.onTrouble(error)
    }
    return false
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
      file.close()
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
