import * as fs from 'node:fs'
import { join } from 'node:path'
import { nodeDisk } from './disk.ts'
import { whyNoEvent } from './event-line.ts'
import { noFollow } from './node-fs.ts'
import { eventsIn, type SpooledEvent } from './read-spool.ts'
import { isSealed, maxSegmentBytes, readSegment } from './segment-format.ts'
import { directoriesIn, readableSegmentsIn } from './spool-directory.ts'

/** Events, one segment at a time: the next segment is read when its events are asked for. Returns `Result` at the end. */
type Reading<Result> = AsyncGenerator<readonly SpooledEvent[], Result>

/** Maximum number of unfinished segments that are held open. Each application has at most one for each dataset. */
const maxOpen = 64

/** A segment that may still grow. It stays open, so that its last lines can be read after its owner has removed it. */
interface OpenSegment {
  readonly file: fs.promises.FileHandle
  /** Bytes and events that have been read. */
  bytes: number
  events: number
}

interface KnownDirectory {
  /** Highest number of a segment that has been seen. */
  highest: number
  readonly open: Map<string, OpenSegment>
}

/** Follows what applications write to a spool. Reads only: it takes no lock, and changes nothing. */
export class SpoolTail {
  readonly #root: string
  readonly #directories = new Map<string, KnownDirectory>()
  #isFirst = true
  #openFiles = 0

  constructor(root: string) {
    this.#root = root
  }

  /**
   * Yields the events written since the last call, one segment at a time. The first call yields every event.
   *
   * @returns the number of segments that left the spool between two calls, or could not be read
   */
  async *readNew(): Reading<number> {
    let missed = 0
    const names = await directoriesIn(this.#root, nodeDisk)
    for (const name of names) missed += yield* this.#readDirectory(name)
    const present = new Set(names)
    for (const [name, directory] of this.#directories) {
      if (present.has(name)) continue
      missed += yield* this.#readOn(directory, new Set())
      this.#directories.delete(name)
    }
    this.#isFirst = false
    return missed
  }

  async close(): Promise<void> {
    for (const { open } of this.#directories.values()) {
      for (const { file } of open.values()) await file.close()
      open.clear()
    }
  }

  async *#readDirectory(name: string): Reading<number> {
    const known = this.#directories.get(name)
    const directory = known ?? { highest: 0, open: new Map<string, OpenSegment>() }
    this.#directories.set(name, directory)
    const { highest } = directory
    const files = await readableSegmentsIn(this.#root, name, nodeDisk)
    if (typeof files === 'string') return 0
    const newFiles = files.filter(file => numberOf(file.name) > highest)
    let missed = yield* this.#readOn(directory, new Set(files.map(file => file.name)))
    for (const file of newFiles) {
      directory.highest = numberOf(file.name) // the files are sorted
      if (!(yield* this.#readNew(directory, join(this.#root, name, file.name), file.name))) missed++
    }
    // Segments have consecutive numbers. One that was never seen was written and delivered in between.
    const isFirst = known === undefined && this.#isFirst
    return isFirst ? missed : missed + directory.highest - highest - newFiles.length
  }

  /** Reads on in each open segment, and closes it if it is sealed or gone. Returns the number of unreadable ones. */
  async *#readOn(directory: KnownDirectory, present: ReadonlySet<string>): Reading<number> {
    let missed = 0
    for (const [name, segment] of directory.open) {
      const state = yield* readOn(segment)
      if (state === 'unreadable') missed++
      if (state === 'growing' && present.has(name)) continue
      directory.open.delete(name)
      this.#openFiles--
      await segment.file.close()
    }
    return missed
  }

  /** Reads a segment for the first time. Returns false if the segment, or its rest, cannot be read. */
  async *#readNew(directory: KnownDirectory, path: string, name: string): Reading<boolean> {
    const flags = (fs.constants.O_RDONLY | noFollow) as never
    const file = await fs.promises.open(path, flags).catch(() => undefined)
    if (file === undefined) return false
    const segment = { file, bytes: 0, events: 0 }
    directory.open.set(name, segment) // first, so that `close` closes the file if the reader stops
    const state = yield* readOn(segment)
    if (state === 'growing' && this.#openFiles < maxOpen) {
      this.#openFiles++
      return true
    }
    directory.open.delete(name)
    await file.close()
    return state === 'sealed'
  }
}

type SegmentState = 'growing' | 'sealed' | 'unreadable'

/** Yields the events that have not been read yet. */
async function* readOn(segment: OpenSegment): Reading<SegmentState> {
  const { events, state } = await readMore(segment).catch(() => unreadable)
  if (events.length > 0) yield events
  return state
}

const unreadable = { events: [], state: 'unreadable' } as const

async function readMore(segment: OpenSegment): Promise<{ events: readonly SpooledEvent[]; state: SegmentState }> {
  const stats = await segment.file.stat()
  const { size } = stats
  if (size === segment.bytes) return { events: [], state: 'growing' }
  if (size > maxSegmentBytes) return unreadable
  const buffer = Buffer.alloc(size)
  const { bytesRead } = await segment.file.read(buffer, 0, size, 0)
  const bytes = buffer.subarray(0, bytesRead)
  const state = isSealed(bytes) ? 'sealed' : 'growing' // first, because the reader moves the bytes
  const content = readSegment(bytes, whyNoEvent)
  const events = eventsIn(content, content.dataset ?? '', stats)
  const newEvents = events.slice(segment.events)
  segment.bytes = size
  segment.events = events.length
  return { events: newEvents, state }
}

function numberOf(segment: string): number {
  return Number(segment.slice(0, segment.indexOf('.')))
}
