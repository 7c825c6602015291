import type { Ingest } from '../../emulator/ingest.ts'
import type { ReceivedRequest } from '../../emulator/request-log.ts'
import { Slices } from '../../emulator/slices.ts'
import { sourceOf } from '../event/source-of.ts'
import type { EventIndexApi } from '../index/index-api.ts'
import type { RequestTrail } from './request-trail.ts'
import { eventOfSavedLine, type SavedEvent, type SnapshotFile } from './snapshot-file.ts'
import type { UidTrail } from './uid-trail.ts'

/** Maximum size of an event that is kept, in bytes. A longer event is kept as an event that tells its size. */
const maxEventBytes = 4_194_304

type Fields = Readonly<Record<string, unknown>>

export interface IntakeDeps {
  readonly index: Pick<EventIndexApi, 'add'>
  readonly trail: RequestTrail
  readonly uids: UidTrail
  readonly snapshot: SnapshotFile | undefined
  /** Called when the events of a request are stored. */
  readonly onStored: (count: { events: number; duplicates: number }) => void
}

/** Gives each stored event to all that count or keep it. */
export class Intake {
  readonly #deps: IntakeDeps

  constructor(deps: IntakeDeps) {
    this.#deps = deps
  }

  async store({ entry, dataset, events }: Ingest): Promise<void> {
    const { index, trail, uids, snapshot, onStored } = this.#deps
    const { n, isDuplicate } = trail.storing(entry)
    let firstSource: string | null = null
    let duplicates = 0
    let unsaved: SavedEvent[] = []
    const slices = new Slices()
    for (let at = 0; at < events.count; at += 1) {
      const isTooLong = events.size(at) > maxEventBytes
      const event: Fields = isTooLong ? tooLong(events.size(at), entry) : events.event(at)
      const line = isTooLong ? JSON.stringify(event) : inOneLine(events.line(at))
      const source = sourceOf(event)
      const duplicate = uids.note(event) ?? isDuplicate
      if (duplicate) duplicates += 1
      if (at === 0) firstSource = source
      const receivedAt = entry.atMs
      index.add({ dataset, source, line, event, receivedAt, request: n, duplicate })
      if (snapshot !== undefined) unsaved.push({ dataset, receivedAt, line })
      if (!slices.isOver) continue
      snapshot?.write(unsaved)
      unsaved = []
      await slices.next()
    }
    snapshot?.write(unsaved)
    trail.stored(entry, { source: firstSource, isDuplicate: isDuplicate || duplicates > 0 })
    onStored({ events: events.count, duplicates })
  }

  /**
   * Takes the lines of a saved file. Returns the numbers of events and of lines that are no event, and the error that
   * ended the file before its end.
   */
  async load(
    lines: AsyncIterable<readonly (string | undefined)[]>,
    nowMs: number,
  ): Promise<{ loaded: number; unreadable: number; problem: unknown }> {
    let loaded = 0
    let unreadable = 0
    try {
      for await (const some of lines) {
        for (const line of some) {
          if (line?.trim() === '') continue
          if (this.#loadLine(line, nowMs)) loaded += 1
          else unreadable += 1
        }
      }
    } catch (problem) {
      return { loaded, unreadable, problem }
    }
    return { loaded, unreadable, problem: undefined }
  }

  /** @returns false if the line is no event */
  #loadLine(line: string | undefined, nowMs: number): boolean {
    const saved = line === undefined || line.length > maxEventBytes ? undefined : eventOfSavedLine(line, nowMs)
    if (saved === undefined) return false
    const { dataset, receivedAt, event } = saved
    const source = sourceOf(event)
    const own = Buffer.from(saved.line).toString() // a slice would keep the whole line of the file
    this.#deps.index.add({ dataset, source, line: own, event, receivedAt, request: null, duplicate: false })
    return true
  }
}

/** A JSON text may have line breaks between its tokens, and nowhere else. */
function inOneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replace(/[\r\n]+/g, ' ') : json
}

function tooLong(bytes: number, { atMs }: ReceivedRequest): Fields {
  const message = `An event of ${bytes} bytes was stored. It is not shown, because it is longer than ${maxEventBytes} bytes.`
  return { _time: new Date(atMs).toISOString(), level: 'warn', message }
}
