import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'

/** Maximum bytes that wait for the disk. Events beyond them are not saved, and counted. */
const maxWaitingBytes = 67_108_864

const newline = 0x0a

/** Maximum length of the name of a dataset in a file, in characters. */
const maxDatasetChars = 1000
/** The last time that a date can be, in milliseconds since 1970. */
const maxTimeMs = 8.64e15

/** One event of a saved file. */
export interface SavedEvent {
  readonly dataset: string
  readonly receivedAt: number
  /** The JSON of the event, in one line. */
  readonly line: string
}

/** Appends events to a file as they arrive, one line of JSON each: `{dataset, receivedAt, event}`. */
export class SnapshotFile {
  readonly #stream: WriteStream
  readonly #onProblem: (message: string) => void
  #unsaved = 0
  #isBroken = false

  /** @param onProblem called with a message when the disk fails, or is too slow for the first time */
  private constructor(stream: WriteStream, onProblem: (message: string) => void) {
    this.#stream = stream
    this.#onProblem = onProblem
    stream.on('error', error => {
      this.#isBroken = true
      onProblem(`--save: no more events are saved: ${error.message}`)
    })
  }

  /** Opens or creates the file, which only its owner may read. @throws any error of the disk */
  static async open(path: string, onProblem: (message: string) => void): Promise<SnapshotFile> {
    const stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
    await once(stream, 'open')
    const file = new SnapshotFile(stream, onProblem)
    if (await hasOpenLine(path)) stream.write('\n')
    return file
  }

  write(events: readonly SavedEvent[]): void {
    if (this.#isBroken) {
      this.#unsaved += events.length
      return
    }
    if (this.#stream.writableLength > maxWaitingBytes) {
      if (this.#unsaved === 0) this.#onProblem('--save: the disk is too slow; some events are not saved')
      this.#unsaved += events.length
      return
    }
    this.#stream.write(events.map(savedLine).join(''), error => {
      if (error) this.#unsaved += events.length
    })
  }

  /** Writes what still waits. @returns the number of events that were not saved, because the disk failed or was too slow */
  async close(): Promise<number> {
    if (!this.#isBroken) {
      const ended = once(this.#stream, 'close').catch(() => {})
      this.#stream.end()
      await ended
    }
    return this.#unsaved
  }
}

/** True if the last line of a file has no end: a run was killed while it wrote, or people have written the file. */
async function hasOpenLine(path: string): Promise<boolean> {
  try {
    const stats = await stat(path)
    if (!stats.isFile() || stats.size === 0) return false
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read({ position: stats.size - 1, length: 1 })
      return bytesRead === 1 && buffer[0] !== newline
    } finally {
      await file.close()
    }
  } catch {
    return false // the file may be written, but not be read
  }
}

/** Reads a line of a saved file. Any other object is an event of the dataset `loaded`. */
export function eventOfSavedLine(
  line: string,
  nowMs: number,
): (SavedEvent & { event: Record<string, unknown> }) | undefined {
  const [, name = '', time, json = ''] = savedForm.exec(line) ?? []
  const [saved, own] = [parsed(name), parsed(json)]
  if (isDataset(saved) && isObject(own)) return { dataset: saved, receivedAt: Number(time), event: own, line: json }
  const value = parsed(line.trim())
  if (!isObject(value)) return undefined
  const { dataset, receivedAt, event } = value
  if (isDataset(dataset) && isTime(receivedAt) && isObject(event)) {
    return { dataset, receivedAt, event, line: JSON.stringify(event) }
  }
  return { dataset: 'loaded', receivedAt: nowMs, event: value, line: line.trim() }
}

/** A line that `savedLine` has written. Its event has the digits of its numbers as they were sent. */
const savedForm = /^\{"dataset":("(?:[^"\\]|\\.)*"),"receivedAt":(\d{1,15}),"event":(\{.*\})\}\s*$/

function isDataset(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= maxDatasetChars
}

function isTime(ms: unknown): ms is number {
  return typeof ms === 'number' && ms >= 0 && ms <= maxTimeMs
}

function savedLine({ dataset, receivedAt, line }: SavedEvent): string {
  return `{"dataset":${JSON.stringify(dataset)},"receivedAt":${receivedAt},"event":${line}}\n`
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
