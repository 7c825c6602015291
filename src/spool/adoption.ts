import type { StoredBatch } from '../batch/batch-store.ts'
import { scratchBuffers } from '../files/scratch-buffers.ts'
import { isPassing } from './disk.ts'
import { isFor } from './file-names.ts'
import { Rests } from './rests.ts'
import { Segment, type SegmentDeps } from './segment.ts'
import type { RefusedRecord } from './segment-format.ts'
import { directoriesIn, type OnReleased, type SegmentFile, SpoolDirectory } from './spool-directory.ts'

/** A batch adopted from an orphaned directory. */
export interface AdoptedBatch {
  readonly dataset: string
  readonly severities: Uint8Array
  /** Bytes of the lines. */
  readonly byteLength: number
  readonly copy: StoredBatch
  /** True if this process handed the batch off itself. */
  readonly wasHandedOffHere: boolean
}

/** Lines that are damaged, missing or refused. Their dataset may be unknown. */
export interface LostLines {
  readonly count: number
  readonly dataset: string | undefined
  readonly wasHandedOffHere: boolean
}

/** The intact records of a segment that must not be sent. */
export interface SetAside {
  readonly count: number
  /** Number of these that were not kept. */
  readonly unkept: number
  /** Why the first one must not be sent. */
  readonly reason: string
}

/** Calls from an adoption to its caller. */
export interface AdopterListeners {
  /**
   * Returns true if this process can never read a batch of so many bytes of lines. The segment then stays in the spool,
   * and its directory is left to a process with more memory.
   */
  isTooLarge(byteLength: number): boolean
  /** Called with some of the adopted batches, oldest first. */
  onAdopted(batches: readonly AdoptedBatch[]): void
  onLost(lost: LostLines): void
  /** Called with each intact record that must not be sent. `onLost` counts it later. Returns true if the record was kept. */
  onRefused(refused: RefusedRecord): boolean
  /** Called when such records of a segment have been counted. */
  onSetAside(setAside: SetAside): void
  /** Called if a file or directory cannot be read now. It stays in the spool, and is tried again. */
  onUnreadable(error: unknown): void
  /** Called if directories of other users have come, with the number of all of these. They are left alone. */
  onForeign(count: number): void
}

interface AdopterDeps {
  readonly root: string
  /** Directories for other destinations are left alone. */
  readonly destination: string
  readonly segments: SegmentDeps
  /** Returns true for the directory to which this process writes. */
  readonly isOwn: (name: string) => boolean
  /** Returns true if the spool has room for a directory of this name with so many bytes. */
  readonly hasRoom: (bytes: number, name: string) => boolean
  readonly onClaimed: (directory: SpoolDirectory) => void
  /** Called if another process has claimed the directory, or has removed it. */
  readonly onNotClaimed: (name: string) => void
  readonly onReleased: OnReleased
  /** Called when another adoption would find more, because earlier segments were delivered. */
  readonly onMore: () => void
}

/**
 * Bytes of lines passed to `onAdopted` at a time, so that the segments of many short-lived processes make few requests.
 */
const passedOnBytes = 1_048_576

/**
 * Maximum number of adopted directories at a time. The lock and the socket of each take two of the descriptors in
 * `append-files.ts`, and 150 KB.
 */
const maxDirectories = 4

/**
 * Maximum number of segments that batches need, and maximum number passed to `onAdopted` at once. Each such segment
 * keeps a few kilobytes of objects in memory, and processes that were killed may have left any number of segments.
 */
const maxSegments = 4096
const passedOnSegments = 1024

/** A segment and the results of reading it, without its lines. */
interface Found {
  readonly segment: Segment
  readonly dataset: string | undefined
  readonly severities: Uint8Array
  readonly byteLength: number
  readonly lost: number
  readonly setAside: SetAside
}

/** Adopts the directories of processes that ended, or that released them. */
export class Adopter {
  readonly #deps: AdopterDeps
  readonly #directories = new Map<string, SpoolDirectory>()
  /** Segments that this process handed off, with the number of lines in each. */
  readonly #handedOff = new Map<string, number>()
  /** Segments of claimed directories that could not be read yet. */
  readonly #unread = new Set<Segment>()
  /** Files of claimed directories that have not been opened yet; the oldest of each directory is last. */
  readonly #unopened = new Map<SpoolDirectory, SegmentFile[]>()
  /** Claimed directories with a segment that is too large. They are released once their other segments are done. */
  readonly #leaving = new Set<SpoolDirectory>()
  /** Names of directories in which every segment is too large. */
  #leftAlone = new Set<string>()
  /** Names of directories that were released because no segment in them could be read; until the next adoption. */
  readonly #leftForNow = new Set<string>()
  /** Names of the directories of other users at the last listing. */
  #foreign: ReadonlySet<string> = new Set()
  /** Directories that were listed but not tried yet, because too many were claimed; oldest first. */
  #found: string[] = []
  #adopting: Promise<void> | undefined
  /** True if directories or files must wait until adopted segments are delivered. */
  #hasMore = false
  #closings = 0
  readonly #rests = new Rests()

  constructor(deps: AdopterDeps) {
    this.#deps = deps
  }

  /** The claimed directories. */
  get directories(): readonly SpoolDirectory[] {
    return [...this.#directories.values()]
  }

  onHandedOff(segment: Segment, lines: number): void {
    this.#handedOff.set(segment.order, lines)
  }

  /** Notes that a segment was removed, which may make room for more. */
  onRemoved(segment: Segment): void {
    this.#handedOff.delete(segment.order)
    const isWaiting = this.#unopened.size > 0 && this.#adopting === undefined
    if (isWaiting && this.#neededSegments <= maxSegments / 2) this.#deps.onMore()
  }

  /**
   * Resolves when the listeners have been called for every segment that can be adopted now, as far as room allows.
   * Never rejects, and does not keep the process alive.
   *
   * @returns true if more can be adopted once these segments are delivered
   */
  async adoptOrphans(listeners: AdopterListeners): Promise<boolean> {
    if (this.#adopting === undefined) {
      this.#leftForNow.clear()
      const adopting = this.#adoptAll(listeners).finally(() => {
        if (this.#adopting === adopting) this.#adopting = undefined
      })
      this.#adopting = adopting
    }
    await this.#adopting
    return this.#hasMore && [...this.#directories.values()].some(({ isNeeded }) => isNeeded)
  }

  /**
   * Releases every claimed directory so that another process can adopt it. A segment still being read counts as not
   * adopted.
   */
  close(): void {
    this.#closings++
    this.#adopting = undefined
    this.#hasMore = false
    this.#found = []
    this.#unread.clear()
    this.#unopened.clear()
    this.#leaving.clear()
    for (const directory of this.#directories.values()) directory.release()
  }

  async #adoptAll(listeners: AdopterListeners): Promise<void> {
    while (await this.#adoptSome(listeners));
  }

  /** Adopts segments as far as room allows. Returns true if directories that are left alone have made room for more. */
  async #adoptSome(listeners: AdopterListeners): Promise<boolean> {
    const closings = this.#closings
    let found: Found[] = []
    let foundBytes = 0
    for await (const segment of this.#segments(listeners)) {
      await this.#rests.due()
      if (closings !== this.#closings) return false
      const one = await this.#read(segment, listeners).catch(error => listeners.onUnreadable(error))
      if (closings !== this.#closings) return false
      if (one === undefined) {
        this.#unread.add(segment)
        continue
      }
      this.#unread.delete(segment)
      found.push(one)
      foundBytes += one.byteLength
      if (foundBytes < passedOnBytes && found.length < passedOnSegments) continue
      this.#emit(found, listeners)
      found = []
      foundBytes = 0
    }
    if (closings !== this.#closings) return false
    this.#emit(found, listeners)
    const directories = this.#directories.size
    for (const directory of this.directories) if (this.#isToBeLeft(directory)) directory.release()
    return this.#hasMore && this.#directories.size < directories
  }

  /**
   * Reads a segment. Its lines are not kept: the batch reads them again when its turn comes. Records that must not be sent are
   * passed on at once. If `close` comes meanwhile, the next process that adopts the segment finds all of them.
   */
  async #read(segment: Segment, { onRefused }: AdopterListeners): Promise<Found> {
    const closings = this.#closings
    const scratch = scratchBuffers.take(segment.readableBytes)
    const setAside = { count: 0, unkept: 0, reason: '' }
    try {
      const { dataset, severities, lines, lost } = await segment.adopt(this.#rests, scratch, refused => {
        if (closings !== this.#closings) return
        if (setAside.count++ === 0) setAside.reason = refused.reason
        if (!onRefused(refused)) setAside.unkept++
      })
      return { segment, dataset, severities, byteLength: lines.length, lost, setAside }
    } finally {
      scratchBuffers.giveBack(scratch)
    }
  }

  /**
   * True if the rest of the directory is too large for this process. True also if other directories wait for its place, and
   * none of its segments can be read now.
   */
  #isToBeLeft(directory: SpoolDirectory): boolean {
    if (this.#unopened.has(directory)) return false
    const isUnread = this.#unreadIn(directory).length > 0
    return isUnread ? this.#hasMore && !directory.isNeeded : this.#leaving.has(directory)
  }

  #unreadIn(directory: SpoolDirectory): Segment[] {
    return [...this.#unread].filter(segment => segment.directory === directory)
  }

  /**
   * Yields the segments that could not be read before, then the segments of one directory after the other. Ends with
   * `close`: what is found after that belongs to the next adoption.
   */
  async *#segments(listeners: AdopterListeners): AsyncGenerator<Segment> {
    const closings = this.#closings
    this.#hasMore = false
    yield* [...this.#unread]
    let mayFindMore = true
    for (;;) {
      yield* this.#open()
      await this.#rests.due()
      if (closings !== this.#closings) return
      // Also after a claim: if two processes try to claim a directory at the same moment, both may fail.
      if (this.#found.length === 0 && mayFindMore) {
        const names = await this.#names(listeners)
        if (closings !== this.#closings) return
        this.#found = names
        mayFindMore = false
      }
      this.#hasMore = this.#unopened.size > 0 || (this.#found.length > 0 && this.#directories.size >= maxDirectories)
      if (this.#hasMore || this.#found.length === 0) return
      const isClaimed = await this.#claim(this.#found.shift() as string, listeners)
      if (closings !== this.#closings) return
      mayFindMore ||= isClaimed
    }
  }

  /** Yields segments of claimed directories as far as room allows. */
  *#open(): Generator<Segment> {
    for (const [directory, files] of this.#unopened) {
      while (files.length > 0) {
        if (this.#neededSegments >= maxSegments) return
        const { name, bytes } = files.pop() as SegmentFile
        yield Segment.at(this.#deps.segments, directory, name, bytes)
      }
      this.#unopened.delete(directory)
    }
  }

  get #neededSegments(): number {
    let count = 0
    for (const directory of this.#directories.values()) count += directory.needed.size
    return count
  }

  async #names({ onUnreadable, onForeign }: AdopterListeners): Promise<string[]> {
    const { root, destination, segments, isOwn } = this.#deps
    const closings = this.#closings
    try {
      segments.disk.assertPrivate(root)
      const foreign: string[] = []
      const names = await directoriesIn(root, segments.disk, name => isFor(destination, name) && foreign.push(name))
      if (closings !== this.#closings) return []
      if (foreign.some(name => !this.#foreign.has(name))) onForeign(foreign.length)
      this.#foreign = new Set(foreign)
      return this.#others(names).filter(
        name => isFor(destination, name) && !this.#directories.has(name) && !isOwn(name),
      )
    } catch (error) {
      if (closings !== this.#closings) return []
      if (isPassing(error)) onUnreadable(error)
      else segments.onTrouble(error)
      return []
    }
  }

  /** Returns the names of directories that are not left alone. Forgets left-alone directories that are gone. */
  #others(names: readonly string[]): string[] {
    this.#leftAlone = new Set(names.filter(name => this.#leftAlone.has(name)))
    return names.filter(name => !this.#leftAlone.has(name) && !this.#leftForNow.has(name))
  }

  /**
   * Tries to claim a directory. Returns true if it was claimed and has segments: other directories may be free, too. A
   * directory that fails does not hold up the others.
   */
  async #claim(name: string, { onUnreadable }: AdopterListeners): Promise<boolean> {
    const { root, segments, hasRoom, onClaimed, onNotClaimed, onReleased, onMore } = this.#deps
    const closings = this.#closings
    let isRefused = false
    // A directory without room is adopted only if no other directory is adopted. The oldest stored batches are then
    // dropped.
    const isWanted = (bytes: number) => {
      const isRoom = bytes === 0 || this.#directories.size === 0 || hasRoom(bytes, name)
      isRefused = closings !== this.#closings || !isRoom
      return !isRefused
    }
    try {
      const claimed = await SpoolDirectory.adopt({
        root,
        name,
        disk: segments.disk,
        isWanted,
        onReleased: directory => {
          this.#directories.delete(name)
          this.#unopened.delete(directory)
          onReleased(directory)
          const unread = this.#unreadIn(directory)
          for (const segment of unread) this.#unread.delete(segment)
          const isTooLarge = this.#leaving.delete(directory)
          if (isTooLarge || unread.length > 0) {
            const left = unread.length > 0 ? this.#leftForNow : this.#leftAlone
            left.add(name)
            onNotClaimed(name) // its bytes do not count for this process
          }
          if (this.#hasMore && this.#directories.size <= maxDirectories / 2) onMore()
        },
      })
      if (claimed === undefined) {
        if (!isRefused) onNotClaimed(name)
        return false
      }
      const { directory, files } = claimed
      this.#directories.set(name, directory)
      onClaimed(directory)
      directory.endWhenDone()
      if (closings !== this.#closings) directory.release()
      else if (files.length > 0) this.#unopened.set(directory, files.reverse())
      return files.length > 0
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') onNotClaimed(name)
      else onUnreadable(error)
      return false
    }
  }

  #emit(found: readonly Found[], { isTooLarge, onAdopted, onLost, onSetAside }: AdopterListeners): void {
    const adopted: AdoptedBatch[] = []
    for (const { segment, dataset, severities, byteLength, lost, setAside } of found) {
      if (dataset !== undefined && isTooLarge(byteLength)) {
        this.#leaving.add(segment.directory)
        continue
      }
      const handedOff = this.#handedOff.get(segment.order)
      const wasHandedOffHere = this.#handedOff.delete(segment.order)
      const count = handedOff === undefined ? lost : handedOff - severities.length
      if (count > 0) onLost({ count, dataset, wasHandedOffHere })
      if (setAside.count > 0) onSetAside(setAside)
      if (dataset === undefined) segment.remove()
      else {
        segment.markNeeded()
        adopted.push({ dataset, severities, byteLength, copy: segment, wasHandedOffHere })
      }
    }
    if (adopted.length > 0) onAdopted(adopted)
  }
}
