import { cutText } from '../cut-text.ts'
import { type EventObject, eventOfLine } from '../event/candidate.ts'
import { type Entry, mark } from '../event/entry.ts'
import { messageOf } from '../event/event-message.ts'
import { scalarJson } from '../event/exact-event.ts'
import { levelOfRank, levelText } from '../event/level-rank.ts'
import { spanIdOf, traceIdOf } from '../event/trace-ids.ts'
import type { Badge, Row } from '../protocol.ts'
import { FieldPath } from '../query/field-path.ts'
import { ShortTurns } from './short-turns.ts'

const maxChars = 300
const maxColumns = 12
/** The row of a longer line, in bytes, is made once for all frames. A shorter line is soon read again. */
const maxReadAgain = 2048

/** What a row tells of the repeats: the number of neighbors that it stands for, and the time of the oldest one. */
export interface Repeats {
  readonly count: number
  readonly since: number
}

/** Makes the rows of one list. */
export class RowMaker {
  readonly #epoch: string
  readonly #columns: readonly FieldPath[]
  readonly #mark: number
  /** The rows of long lines that were in the latest frame. */
  #latest = new Map<Entry, Row>()

  constructor(epoch: string, { columns, mark: markedAt }: { columns: readonly string[]; mark: number }) {
    this.#epoch = epoch
    this.#columns = columns.slice(0, maxColumns).map(path => new FieldPath(path))
    this.#mark = markedAt
  }

  /**
   * @param line the line of the entry, which may be held although the entry is not kept any more
   */
  row(entry: Entry, line: string, repeats: Repeats): Row {
    const event = eventOfLine(line)
    const level = levelOfRank(entry.rank)
    const text = levelText(event)
    const row: Row = {
      id: `${this.#epoch}.${entry.n}`,
      n: entry.n,
      at: entry.at,
      time: timeText(event._time),
      receivedAt: entry.receivedAt,
      dataset: entry.dataset.name,
      source: entry.source?.name ?? null,
      level,
      message: cutText(messageOf(event), maxChars),
      traceId: short(traceIdOf(event)),
      spanId: short(spanIdOf(event)),
      cells: this.#columns.map(path => cellOf(event, path)),
      badges: badgesOf(entry, this.#mark),
      repeats: repeats.count,
    }
    if (text !== undefined && text !== level) row.levelText = cutText(text, maxChars)
    if (entry.skewMs !== 0) row.skewMs = entry.skewMs
    if (repeats.count > 1) row.since = repeats.since
    return row
  }

  /** Makes the rows of long lines for the next frame, a few milliseconds at a time. */
  async prepare(entries: Iterable<Entry>): Promise<void> {
    const turns = new ShortTurns()
    for (const entry of entries) {
      if (entry.lineBytes <= maxReadAgain || this.#latest.has(entry)) continue
      this.#latest.set(entry, this.#longRow(entry))
      await turns.next()
    }
  }

  #longRow(entry: Entry): Row {
    return ownRow(this.row(entry, entry.line, { count: 1, since: entry.at }))
  }

  /** Returns the rows of a frame. Most of them were in the frame before, which is a tenth of a second ago. */
  frame(runs: readonly (Repeats & { readonly entry: Entry })[]): Row[] {
    const before = this.#latest
    this.#latest = new Map()
    return runs.map(run => {
      const { entry } = run
      if (entry.lineBytes <= maxReadAgain) return this.row(entry, entry.line, run)
      const known = before.get(entry) ?? this.#longRow(entry)
      this.#latest.set(entry, known)
      return run.count > 1 ? { ...known, repeats: run.count, since: run.since } : known
    })
  }

  /** Returns the row of an event of which no more than its place is known. */
  forgottenRow({ n, at, count, since }: { n: number; at: number; count: number; since: number }): Row {
    const row: Row = {
      id: `${this.#epoch}.${n}`,
      n,
      at,
      time: null,
      receivedAt: at,
      dataset: '',
      source: null,
      level: null,
      message: '',
      traceId: null,
      spanId: null,
      cells: this.#columns.map(() => null),
      badges: ['forgotten'],
      repeats: count,
    }
    if (count > 1) row.since = since
    return row
  }
}

/** Returns the row with texts of its own: a part of a text would hold the whole text of the event. */
function ownRow(row: Row): Row {
  return JSON.parse(JSON.stringify(row))
}

/** Returns the time as it was sent, as a text. */
export function timeText(time: unknown): string | null {
  if (typeof time === 'string') return cutText(time, maxChars)
  return typeof time === 'number' || typeof time === 'bigint' ? String(time) : null
}

/** @param markedAt events that arrived later are new; 0 for none */
export function badgesOf(entry: Entry, markedAt: number): Badge[] {
  const badges: Badge[] = []
  if (entry.marks & mark.late) badges.push('late')
  if (entry.marks & mark.clock) badges.push('clock')
  if (entry.marks & mark.noTime) badges.push('no-time')
  if (entry.marks & mark.cut) badges.push('cut')
  if (entry.marks & mark.duplicate) badges.push('duplicate')
  if (markedAt > 0 && entry.n > markedAt) badges.push('new')
  return badges
}

function cellOf(event: EventObject, path: FieldPath): string | null {
  let cell: string | null = null
  path.some(event, value => {
    cell = jsonText(value)
    return true
  })
  return cell
}

/** Returns the JSON text of a value, cut. A long text is cut before it is written. */
function jsonText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cutText(value, maxChars))
  if (typeof value !== 'object' || value === null) return String(value)
  return cutText(summaryOfContainer(value), maxChars)
}

/** Returns an array of few scalars as it is, and of other containers their size. */
function summaryOfContainer(value: object): string {
  if (!Array.isArray(value)) return `{${Object.keys(value).length} fields}`
  const isShort = value.length <= 10 && value.every(element => typeof element !== 'object' || element === null)
  return isShort
    ? `[${value.map(element => scalarJson(typeof element === 'string' ? cutText(element, 40) : element)).join(',')}]`
    : `[${value.length} elements]`
}

function short(text: string | null): string | null {
  return text === null ? null : cutText(text, maxChars)
}
