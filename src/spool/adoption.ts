import type { StoredBatch } from '../batch/batch-store.ts'
import { monotonicMs, setTimeout } from '../time.ts'
import { isPassing } from './disk.ts'
import { Segment, type SegmentParts } from './segment.ts'
import type { RefusedRecord } from './segment-format.ts'
import { directoriesIn, isFor, type OnReleased, type SegmentFile, SpoolDirectory } from './spool-directory.ts'

/** What another process has left. */
export interface AdoptedBatch {
  readonly dataset: string
  readonly severities: Uint8Array
  /** Bytes of its lines. */
  readonly byteLength: number
  readonly copy: StoredBatch
  /** Whether we have left it ourselves, by `close`. */
  readonly wasHandedOffHere: boolean
}

/** Lines that are damaged or missing; of which dataset, may not be known. */
export interface LostLines {
  readonly count: number
  readonly dataset: string | undefined
  readonly wasHandedOffHere: boolean
}

/** What is told of what another process has left. */
export interface AdopterListeners {
  /** Some of it, oldest first. */
  onAdopted(inherited: readonly AdoptedBatch[]): void
  onLost(lost: LostLines): void
  /** Of the lines that are lost, these are intact, and must not be sent. */
  onRefused(refused: readonly RefusedRecord[]): void
  /** Some of it cannot be read now. It stays where it is, and is tried again. */
  onUnreadable(error: unknown): void
}

export interface AdopterDeps {
  readonly root: string
  /** What is for another is left alone. */
  readonly destination: string
  readonly segments: SegmentParts
  /** True for the directory that this process writes to. */
  readonly isOwn: (name: string) => boolean
  /** Whether there is room for so many bytes more. */
  readonly hasRoom: (bytes: number, name: string) => boolean
  readonly onClaimed: (directory: SpoolDirectory) => void
  /** Another process has that directory, or has removed it. */
  readonly onNotClaimed: (name: string) => void
  readonly onReleased: OnReleased
  /** There is more to be inherited, and some of what was in its way is delivered. */
  readonly onMore: () => void
}

/** Bytes of lines that are handed over together, so that what many short-lived processes have left makes few requests. */
const handOverBytes = 1_048_576

/**
 * Directories that are claimed at a time. The signs of the owner of each take two of the descriptors in `append-files.ts`, and
 * 150 KB.
 */
const maxDirectories = 4

/**
 * Segments that batches stand for at a time, and how many are handed over at once: of each, objects stay here that take a few
 * kilobytes, and processes that were killed may have left any number of them.
 */
const maxSegments = 16_384
const handOverSegments = 1024

const restEveryMs = 5

/** A segment, and what has been found in it. */
interface Found {
  readonly segment: Segment
  readonly dataset: string | undefined
  readonly severities: Uint8Array
  readonly byteLength: number
  readonly lost: number
  readonly refused: readonly RefusedRecord[]
}

/** Takes over what processes have left that are no more, or that have let go of it. */
export class Adopter {
  readonly #parts: AdopterDeps
  readonly #directories = new Map<string, SpoolDirectory>()
  /** Segments that `close` has left, and the lines in each. */
  readonly #left = new Map<string, number>()
  /** What is claimed, and could not be read yet. */
  readonly #unread = new Set<Segment>()
  /** Files of claimed directories that have not been looked at yet; the oldest of each stands last. */
  readonly #unopened = new Map<SpoolDirectory, SegmentFile[]>()
  /** Directories that were found and have not been looked at yet, as too many were claimed; oldest first. */
  #found: string[] = []
  #adopting: Promise<void> | undefined
  /** Whether there are directories that were not claimed, as too many were. */
  #hasMore = false
  #closings = 0
  #restAtMs = 0

  constructor(parts: AdopterDeps) {
    this.#parts = parts
  }

  /** Those that are claimed. */
  get directories(): readonly SpoolDirectory[] {
    return [...this.#directories.values()]
  }

  onLeft(segment: Segment, lines: number): void {
    this.#left.set(segment.order, lines)
  }

  /** A segment is settled, by which there may be room for more. */
  onRemoved(): void {
    const isWaiting = this.#unopened.size > 0 && this.#adopting === undefined
    if (isWaiting && this.#heldSegments <= maxSegments / 2) this.#parts.onMore()
  }

  /**
   * Resolves when everything has been told of that is there to be inherited now, and for which there is room: with `true`
   * where there is more to come once that is delivered. Never rejects, and does not keep the process alive.
   */
  async adoptOrphans(listeners: AdopterListeners): Promise<boolean> {
    if (this.#adopting === undefined) {
      const inheriting = this.#adoptAll(listeners).finally(() => {
        if (this.#adopting === inheriting) this.#adopting = undefined
      })
      this.#adopting = inheriting
    }
    await this.#adopting
    return this.#hasMore && [...this.#directories.values()].some(({ isHeld }) => isHeld)
  }

  /** Lets go of everything, for whoever comes next. What is just being read has not been inherited. */
  close(): void {
    this.#closings++
    this.#adopting = undefined
    this.#hasMore = false
    this.#found = []
    this.#unread.clear()
    this.#unopened.clear()
    for (const directory of this.#directories.values()) directory.release()
  }

  async #adoptAll(listeners: AdopterListeners): Promise<void> {
    const closings = this.#closings
    let found: Found[] = []
    let foundBytes = 0
    for await (const segment of this.#segments(listeners)) {
      await this.#rest()
      if (closings !== this.#closings) return
      const content = await segment.adopt(() => this.#rest()).catch(error => listeners.onUnreadable(error))
      if (closings !== this.#closings) return
      if (content === undefined) {
        this.#unread.add(segment)
        continue
      }
      this.#unread.delete(segment)
      // Its lines are read once more when it is their turn.
      const { dataset, severities, lines, lost, refused } = content
      found.push({ segment, dataset, severities, byteLength: lines.length, lost, refused })
      foundBytes += lines.length
      if (foundBytes < handOverBytes && found.length < handOverSegments) continue
      this.#emit(found, listeners)
      found = []
      foundBytes = 0
    }
    if (closings === this.#closings) this.#emit(found, listeners)
  }

  /** What could not be read before, then what is in one directory after the other. */
  async *#segments(listeners: AdopterListeners): AsyncGenerator<Segment> {
    const closings = this.#closings
    this.#hasMore = false
    yield* [...this.#unread]
    if (this.#found.length === 0) this.#found = await this.#names(listeners)
    let hasClaimed = false
    for (;;) {
      yield* this.#open()
      await this.#rest()
      if (closings !== this.#closings) return
      this.#hasMore = this.#unopened.size > 0 || (this.#found.length > 0 && this.#directories.size >= maxDirectories)
      if (this.#hasMore || this.#found.length === 0) return
      const isClaimed = await this.#claim(this.#found.shift() as string, listeners)
      hasClaimed ||= isClaimed
      // Once more: of two processes that reach for a directory at the same moment, neither may have got it.
      if (this.#found.length === 0 && hasClaimed) {
        this.#found = await this.#names(listeners)
        hasClaimed = false
      }
    }
  }

  /** As many segments of claimed directories as there is room for. */
  *#open(): Generator<Segment> {
    for (const [directory, files] of this.#unopened) {
      while (files.length > 0) {
        if (this.#heldSegments >= maxSegments) return
        const { name, bytes } = files.pop() as SegmentFile
        yield Segment.at(this.#parts.segments, directory, name, bytes)
      }
      this.#unopened.delete(directory)
    }
  }

  get #heldSegments(): number {
    let held = 0
    for (const directory of this.#directories.values()) held += directory.held.size
    return held
  }

  async #names({ onUnreadable }: AdopterListeners): Promise<string[]> {
    const { root, destination, segments, isOwn } = this.#parts
    const closings = this.#closings
    try {
      segments.disk.assertPrivate(root)
      const names = await directoriesIn(root, segments.disk)
      return closings !== this.#closings
        ? []
        : names.filter(name => isFor(destination, name) && !this.#directories.has(name) && !isOwn(name))
    } catch (error) {
      if (closings !== this.#closings) return []
      if (isPassing(error)) onUnreadable(error)
      else segments.onTrouble(error)
      return []
    }
  }

  /** Claims a directory, if it is to be had: then there may be more. One that is in disorder does not stand before the others. */
  async #claim(name: string, { onUnreadable }: AdopterListeners): Promise<boolean> {
    const { root, segments, hasRoom, onClaimed, onNotClaimed, onReleased, onMore } = this.#parts
    const closings = this.#closings
    let isRefused = false
    // One that has more than all the room there is comes alone, and loses its oldest.
    const isWanted = (bytes: number) => {
      const isRoom = bytes === 0 || this.#directories.size === 0 || hasRoom(bytes, name)
      isRefused = closings !== this.#closings || !isRoom
      return !isRefused
    }
    try {
      const claimed = await SpoolDirectory.adopt(root, name, segments.disk, isWanted, directory => {
        this.#directories.delete(name)
        this.#unopened.delete(directory)
        onReleased(directory)
        if (this.#hasMore && this.#directories.size <= maxDirectories / 2) onMore()
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

  /** Gives the event loop a turn every few milliseconds; a process that has nothing else to do comes to its end in it. */
  #rest(): Promise<void> | undefined {
    return monotonicMs() < this.#restAtMs ? undefined : this.#takeTurn()
  }

  async #takeTurn(): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, 0).unref())
    this.#restAtMs = monotonicMs() + restEveryMs
  }

  #emit(found: readonly Found[], { onAdopted, onLost, onRefused }: AdopterListeners): void {
    const inherited: AdoptedBatch[] = []
    for (const { segment, dataset, severities, byteLength, lost, refused } of found) {
      const left = this.#left.get(segment.order)
      const wasOurs = this.#left.delete(segment.order)
      const count = left === undefined ? lost : left - severities.length
      if (count > 0) onLost({ count, dataset, wasHandedOffHere: wasOurs })
      if (refused.length > 0) onRefused(refused)
      if (dataset === undefined) segment.remove()
      else {
        segment.hold()
        inherited.push({ dataset, severities, byteLength, copy: segment, wasHandedOffHere: wasOurs })
      }
    }
    if (inherited.length > 0) onAdopted(inherited)
  }
}
