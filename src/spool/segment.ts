/**
 * The life of a segment file, which has the lines of one batch:
 *
 * 1. Created (`create`): the spool charges the bytes to its limit, and makes the file in this process's own directory.
 * 2. Written: each line becomes one record. `append` writes a line that memory has, too (`durability: 'disk'`).
 *    `appendAll` writes a batch that leaves memory. `extend` adds a line that only the file has.
 * 3. Sealed (`seal`): the end record gives the number of lines, and the file is closed. No line is added any more.
 * 4. Synced (`sync`): about a second after `appendAll`, `extend` or `seal`, if the file still exists. While `append`
 *    adds lines for longer than that, every second. From then on its lines survive a power failure.
 * 5. Reloaded (`read`, `readNow`): the lines come back to memory to be sent. The file stays until they are settled.
 * 6. Delivered and removed (`remove`): every line is delivered or dropped. If the spool is full, the oldest batch that
 *    only the spool has is dropped. If the file cannot be removed, the removal is tried again later.
 *
 * This life can end early:
 *
 * - Handed off (`handOff`): `close`, or the end of the process, leaves no time to deliver the batch, or its file cannot
 *   be read. The batch stays in its file, or is written to one. Another process can adopt the directory once it is
 *   released, or once its owner ends. The files of a process that was killed stay likewise.
 * - Vanished (`vanish`, `hasVanished`): another program has removed, replaced or shortened the file, or has removed or
 *   taken the directory. Lines that memory has are written to a new segment. The other lines are lost, or the process
 *   that took the directory has them.
 *
 * A process that claims a directory without an owner takes over its segments:
 *
 * - Adopted (`at`, `adopt`, then `markNeeded`): each record is checked. The intact lines become a batch, which goes on at
 *   step 5. Damaged and missing lines count as lost. A file that cannot be read stays in its place, and is tried again.
 * - Set aside: the line of an intact record that must not be sent is written to `rejected.ndjson`, and counts as lost.
 *   If no line of a segment can be sent, its file is removed at once.
 */
import type { StoredBatch, StoredContent } from '../batch/batch-store.ts'
import { monotonicMs } from '../time.ts'
import type { AppendFile, AppendFiles } from './append-files.ts'
import { type Disk, type FileState, isPassing, isSameFile } from './disk.ts'
import { whyNoEvent } from './event-line.ts'
import { Rests } from './rests.ts'
import {
  type LineCheck,
  maxSegmentBytes,
  nameBytes,
  newline,
  type RefusedRecord,
  readSegment,
  recordBytes,
  type SegmentContent,
  SegmentReader,
  writeEnd,
  writeRecord,
} from './segment-format.ts'
import type { NeededSegment, SpoolDirectory } from './spool-directory.ts'

/**
 * Dependencies that all segments of a spool share: the disk, its byte limit, and listeners for changes of a segment.
 */
export interface SegmentDeps {
  readonly disk: Disk
  readonly files: AppendFiles
  /** Charges bytes to the spool's limit. Returns false, with nothing charged, if they do not fit. */
  readonly chargeBytes: (bytes: number) => boolean
  readonly onRemoved: (segment: Segment, bytes: number) => void
  /** Called if the file could not be removed. The removal may be tried again. */
  readonly onUnremoved: (segment: Segment) => void
  /** Called when the segment is handed off to another process. */
  readonly onHandedOff: (segment: Segment, lines: number) => void
  /** Called when lines were written that a power failure could still lose. */
  readonly onWritten: (segment: Segment) => void
  /** Called after a line has been added, which a sync need not follow soon. */
  readonly onAppended: () => void
  readonly onTrouble: (error: unknown) => void
}

/**
 * Minimum time since the first failed read, and minimum number of failed reads, until the segment is left to another
 * process. Passing failures do not count. The time is long, because this process never takes the segment back, and a
 * disk may be away for some seconds.
 */
const unreadableFrom = { ms: 30_000, reads: 3 }
const noContent: SegmentContent = {
  dataset: undefined,
  lines: Buffer.alloc(0),
  severities: new Uint8Array(),
  lost: 0,
  refused: [],
}

/**
 * Buffer in which records are put together. It grows to the longest record. All segments share it, because no method
 * waits while it is in use.
 */
let scratch = Buffer.alloc(0)
const scratchBytes = 262_144

/**
 * A batch as a file of records, one for each line. Lines are only added, and only until the segment is sealed. A batch
 * needs the segment until the file is removed or handed off.
 */
export class Segment implements StoredBatch, NeededSegment {
  readonly order: string
  readonly #deps: SegmentDeps
  readonly #directory: SpoolDirectory
  readonly #dataset: string
  #bytes: number
  #file: AppendFile | undefined
  #writtenBytes = 0
  /** Number of lines in the file. */
  #count = 0
  /** Number of lines in the file at the last attempt to sync it. */
  #syncedCount = 0
  /** Number of reads that have failed since the last one that succeeded, and the monotonic time of the first of these. */
  #failedReads = 0
  #failedSinceMs = 0
  #isComplete = true
  #isNeeded = false
  #isRemoved = false
  /** True if the file has intact records that must not be sent. */
  #hasRefused = false
  #hasVanished = false
  #isSealed = false
  /** Identity of the file; `undefined` if the disk gave none. */
  #identity: string | undefined

  private constructor(deps: SegmentDeps, directory: SpoolDirectory, name: string, dataset: string, bytes: number) {
    this.#deps = deps
    this.#directory = directory
    this.#dataset = dataset
    this.#bytes = bytes
    this.order = directory.orderOf(name)
  }

  /**
   * Creates a file to write to. The caller has charged `takenBytes` to the spool's limit, the end record included.
   * `append` and `extend` charge the bytes of their lines.
   *
   * @throws any error from the disk
   */
  static create(deps: SegmentDeps, directory: SpoolDirectory, dataset: string, takenBytes: number): Segment {
    const segment = new Segment(deps, directory, directory.nextSegment(), dataset, takenBytes)
    segment.#file = deps.files.create(segment)
    segment.#identity = segment.#file.identity
    directory.onCreated()
    directory.bytes += takenBytes
    segment.markNeeded()
    return segment
  }

  /** Returns the segment of an existing file. */
  static at(deps: SegmentDeps, directory: SpoolDirectory, name: string, bytes: number): Segment {
    const segment = new Segment(deps, directory, name, '', bytes) // never written, so it needs no dataset
    segment.#writtenBytes = bytes
    segment.#isSealed = true
    segment.#identity = segment.#stat()?.identity
    return segment
  }

  get directory(): SpoolDirectory {
    return this.#directory
  }

  get #name(): Uint8Array {
    return nameBytes(this.#dataset)
  }

  get path(): string {
    return this.#directory.pathOf(this.order)
  }

  /** Bytes that a read of the file takes; 0 if it is too large to be read. */
  get readableBytes(): number {
    return this.#bytes > maxSegmentBytes ? 0 : this.#bytes
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  get isOpen(): boolean {
    return !this.#isSealed
  }

  get exists(): boolean {
    return !this.hasVanished && this.#isAsWritten(this.#stat())
  }

  /** True if lines were added since the last attempt to sync the file. */
  get hasUnsynced(): boolean {
    return this.#count > this.#syncedCount
  }

  get #isExtendible(): boolean {
    return !this.#isSealed && this.#isComplete && this.#file !== undefined && !this.hasVanished
  }

  get hasVanished(): boolean {
    return this.#hasVanished || this.#directory.isReleased
  }

  get isUnreadable(): boolean {
    const { reads, ms } = unreadableFrom
    return this.#failedReads >= reads && monotonicMs() - this.#failedSinceMs >= ms
  }

  isGone(): boolean {
    try {
      return this.#isNeeded && !this.#isAsWritten(this.#deps.disk.stat(this.path))
    } catch {
      return false // the disk gives no answer now
    }
  }

  get count(): number {
    return this.#count
  }

  append(number: number, severity: number, lines: Buffer, from: number, to: number): void {
    if (this.#file === undefined || this.hasVanished) return
    const bytes = recordBytes(this.#name, to - from)
    if (!this.#deps.chargeBytes(bytes)) return this.#fail()
    this.#bytes += bytes
    this.#directory.bytes += bytes
    if (!this.#hasScratch(bytes)) return
    if (!this.#write(writeRecord(scratch, 0, this.#name, number, severity, lines, from, to))) return
    this.#count = number + 1
    this.#deps.onAppended()
  }

  extend(severity: number, lines: Buffer, from: number, to: number): boolean {
    const bytes = recordBytes(this.#name, to - from)
    if (!this.#isExtendible || !this.#deps.chargeBytes(bytes)) return false
    this.#bytes += bytes
    this.#directory.bytes += bytes
    try {
      makeScratch(bytes)
      writeRecord(scratch, 0, this.#name, this.#count, severity, lines, from, to)
      if (this.#file?.write(scratch, bytes)) {
        this.#writtenBytes += bytes
        this.#count++
        this.#deps.onWritten(this)
        return true
      }
    } catch (error) {
      this.#deps.onTrouble(error)
    }
    this.#isSealed = true // still complete: the file has every line added before
    this.#close()
    return false
  }

  /**
   * Adds lines that each end in a newline, and whose bytes are already charged. Returns true if all lines were written.
   */
  appendAll(lines: Buffer, severities: Uint8Array): boolean {
    let filled = 0
    let from = 0
    for (const severity of severities) {
      const to = lines.indexOf(newline, from) + 1
      const bytes = recordBytes(this.#name, to - from)
      if (filled + bytes > scratch.length) {
        this.#write(filled)
        filled = 0
        if (!this.#hasScratch(bytes)) return false
      }
      filled = writeRecord(scratch, filled, this.#name, this.#count++, severity, lines, from, to)
      from = to
    }
    this.#write(filled)
    if (this.#isComplete) this.#deps.onWritten(this)
    return this.#isComplete
  }

  seal(): void {
    this.#isSealed = true
    if (this.#file === undefined) return
    if (!this.#hasScratch(recordBytes(this.#name, 0))) return
    this.#write(writeEnd(scratch, 0, this.#name, this.#count))
    this.#close()
    if (this.#isComplete) this.#deps.onWritten(this)
  }

  /**
   * Reads a file that another process has written. Returns no content if the file does not exist. Each line is checked;
   * lines that must not be sent are skipped from then on.
   *
   * @param rests taken between records, because checking lines takes longer than all other work
   * @param scratch holds the content if the file fits into it, until the next call with the same scratch
   * @param onRefused called with each intact record that must not be sent
   * @throws any error from reading; one with the code of `readFile` if the file is larger than `maxSegmentBytes`
   */
  async adopt(rests: Rests, scratch: Buffer, onRefused: (refused: RefusedRecord) => void): Promise<SegmentContent> {
    if (this.hasVanished) return noContent // a file at this path may now belong to another process
    if (this.#bytes > maxSegmentBytes)
      throw Object.assign(new Error('the file is too large'), { code: 'ERR_FS_FILE_TOO_LARGE' })
    try {
      this.#hasRefused = false
      const bytes = await this.#deps.disk.read(this.path, scratch)
      return await this.#readIn(bytes, rests, whyNoEvent, refused => {
        this.#hasRefused = true
        onRefused(refused)
      })
    } catch (error) {
      return withoutFile(error)
    }
  }

  readNow(): StoredContent {
    if (this.hasVanished) return noContent
    try {
      return this.#counted(readSegment(this.#deps.disk.readNow(this.path), this.#check))
    } catch (error) {
      return withoutFile(error)
    }
  }

  async read(scratch: Buffer): Promise<StoredContent> {
    if (this.hasVanished) return noContent
    try {
      const bytes = await this.#deps.disk.read(this.path, scratch)
      const content = await this.#readIn(bytes, new Rests(monotonicMs()), this.#check, () => {})
      this.#failedReads = 0
      return content
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return noContent
      if (isPassing(error)) throw error
      if (this.#failedReads++ === 0) this.#failedSinceMs = monotonicMs()
      throw error
    }
  }

  /**
   * Syncs the file, so that its lines survive a power failure. Never rejects.
   *
   * @returns false if the sync failed for a passing reason and should be tried again; true otherwise, also after a
   *   permanent failure
   */
  async sync(): Promise<boolean> {
    if (this.hasVanished) return true
    this.#syncedCount = this.#count
    try {
      await this.#deps.disk.sync(this.path)
    } catch (error) {
      if (isPassing(error)) return false
      // A failed sync is not repeated: if the disk has failed once to sync a file, its second answer means nothing. A
      // missing file is no trouble of the disk.
      if (codeOf(error) !== 'ENOENT') this.#deps.onTrouble(error)
    }
    return true
  }

  /** Notes that a batch of this process needs the segment. */
  markNeeded(): void {
    this.#isNeeded = true
    this.#directory.addNeeded(this)
  }

  handOff(): void {
    this.seal()
    this.#deps.onHandedOff(this, this.#count)
    this.#markUnneeded()
  }

  remove(): void {
    if (this.#isRemoved) return
    this.#close()
    if (this.#directory.isReleased) return this.#deps.onRemoved(this, 0) // its bytes went with the directory
    try {
      this.#deps.disk.remove(this.path)
      this.#isRemoved = true
      this.#deps.onRemoved(this, this.#bytes)
      this.#directory.bytes -= this.#bytes
      this.#directory.onRemoved()
    } catch (error) {
      this.#deps.onTrouble(error)
      this.#deps.onUnremoved(this)
      this.#empty()
    }
    this.#markUnneeded()
  }

  /** Empties a file that cannot be removed. Otherwise a process that adopts it would send its lines again. */
  #empty(): void {
    try {
      this.#deps.disk.empty(this.path)
    } catch {
      // The file system has become read-only, for example.
    }
  }

  vanish(): void {
    this.#hasVanished = true
    this.#isRemoved = true
    this.#close()
    this.#isComplete = false
    this.#deps.onRemoved(this, this.#bytes)
    this.#directory.bytes -= this.#bytes
    this.#directory.onRemoved()
    this.#markUnneeded()
  }

  #stat(): FileState | undefined {
    try {
      return this.#deps.disk.stat(this.path)
    } catch {
      return undefined
    }
  }

  #isAsWritten(state: FileState | undefined): boolean {
    return state !== undefined && isSameFile(state, { identity: this.#identity, bytes: this.#writtenBytes })
  }

  #markUnneeded(): void {
    if (!this.#isNeeded) return
    this.#isNeeded = false
    this.#directory.removeNeeded(this)
  }

  /** The check of lines that were checked before. Their places are not kept, of which a file may have millions. */
  get #check(): LineCheck | undefined {
    return this.#hasRefused ? whyNoEvent : undefined
  }

  /** Reads the records one by one. Another program may have written millions of them. */
  async #readIn(
    bytes: Buffer,
    rests: Rests,
    check: LineCheck | undefined,
    onRefused: (refused: RefusedRecord) => void,
  ): Promise<SegmentContent> {
    const reader = new SegmentReader(bytes, check, onRefused)
    while (reader.step()) {
      const resting = rests.due()
      if (resting !== undefined) await resting
    }
    return this.#counted(reader.content())
  }

  #counted(content: SegmentContent): SegmentContent {
    this.#count = content.severities.length
    return content
  }

  /** Makes the scratch buffer large enough. Returns false if the system has no memory for it: no line is added then. */
  #hasScratch(bytes: number): boolean {
    try {
      makeScratch(bytes)
      return true
    } catch (error) {
      this.#fail()
      this.#deps.onTrouble(error)
      return false
    }
  }

  /** Writes the first `bytes` bytes of the scratch buffer. Returns true if they were written. */
  #write(bytes: number): boolean {
    if (this.hasVanished) this.#fail() // another process may be reading the file
    if (this.#file === undefined || bytes === 0) return false
    try {
      if (this.#file.write(scratch, bytes)) {
        this.#writtenBytes += bytes
        return true
      }
      this.#fail() // the file is gone, which is no trouble of the disk
    } catch (error) {
      this.#fail()
      this.#deps.onTrouble(error)
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
      this.#deps.onTrouble(error)
    }
  }
}

/**
 * Returns no content if the error is a missing file.
 *
 * @throws any other error
 */
function withoutFile(error: unknown): SegmentContent {
  if (codeOf(error) === 'ENOENT') return noContent
  throw error
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}

/** @throws an error with the code of a disk that has no memory, if the system has none */
function makeScratch(bytes: number): void {
  if (bytes <= scratch.length) return
  try {
    scratch = Buffer.allocUnsafeSlow(Math.max(bytes, scratchBytes))
  } catch (cause) {
    throw Object.assign(new Error('no memory for a record', { cause }), { code: 'ENOMEM' })
  }
}
