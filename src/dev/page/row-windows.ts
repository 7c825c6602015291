/**
 * The rows that the page has of its list, by rank: 0 is the newest. A list that follows has the rows of the last frame.
 * A pinned list is the result as of one arrival and never changes, so its rows are read in windows, in any order, and the
 * windows that were looked at last are kept.
 */
import type { Row, RowsAnswer } from '../protocol.ts'

export const windowRows = 200
const maxWindows = 20

export interface Drawn {
  rows: readonly Row[]
  /** Rows of the whole list. */
  matched: number
  /** Arrival number as of which these are the newest rows. */
  newest: number
  complete: boolean
}

type Load = (until: number, from: number, n: number, signal: AbortSignal) => Promise<RowsAnswer>

export class RowWindows {
  readonly #load: Load
  readonly #onChange: () => void
  readonly #onError: (error: unknown) => void
  /** In the order in which they were looked at. */
  readonly #windows = new Map<number, readonly Row[]>()
  readonly #loading = new Map<number, AbortController>()
  #until = 0
  #isPinned = false
  /** Number of lists that were drawn so far. */
  #drawn = 0
  matched = 0
  /** True once all kept events have been looked at. */
  complete = true
  /** Share of the kept events that has been looked at. */
  read = 1

  constructor(load: Load, onChange: () => void, onError: (error: unknown) => void) {
    this.#load = load
    this.#onChange = onChange
    this.#onError = onError
  }

  /** Arrival number as of which the list is drawn. */
  get until(): number {
    return this.#until
  }

  /** Shows the newest rows of a list that follows. */
  draw({ rows, matched, newest, complete }: Drawn): void {
    this.#forget()
    this.#drawn++
    this.#isPinned = false
    this.#windows.set(0, rows)
    this.#until = newest
    this.matched = Math.max(matched, rows.length)
    this.complete = complete
    this.#onChange()
  }

  /** Keeps the list as it is drawn. From now on the other rows can be read. */
  pin(): void {
    this.#isPinned = true
  }

  /** Keeps what is here, and reads no more: the service that had the rows is gone. */
  freeze(): void {
    for (const loading of this.#loading.values()) loading.abort()
    this.#loading.clear()
    this.#isPinned = false
    this.complete = true
    this.matched = this.heldRows().length
  }

  /** Gives each row the cells of other columns, as far as it has them. The service sends the others with the next list. */
  changeColumns(before: readonly string[], after: readonly string[]): void {
    const places = after.map(path => before.indexOf(path))
    for (const [start, rows] of this.#windows) {
      this.#windows.set(
        start,
        rows.map(row => ({ ...row, cells: places.map(at => row.cells[at] ?? null) })),
      )
    }
  }

  /** All rows that the page has, without gaps, from the newest. */
  heldRows(): Row[] {
    const rows: Row[] = []
    for (let start = 0; ; start += windowRows) {
      const window = this.#windows.get(start)
      if (window === undefined) return rows
      rows.push(...window)
      if (window.length < windowRows) return rows
    }
  }

  row(rank: number): Row | undefined {
    const start = rank - (rank % windowRows)
    return this.#windows.get(start)?.[rank - start]
  }

  /** Reads the windows of these ranks that are missing, and stops reading others. */
  want(from: number, to: number): void {
    if (!this.#isPinned || this.matched === 0) return
    const first = Math.max(from - (from % windowRows), 0)
    const last = Math.min(to, this.matched - 1)
    const wanted: number[] = []
    for (let start = first; start <= last; start += windowRows) wanted.push(start)
    for (const [start, loading] of this.#loading) {
      if (wanted.includes(start)) continue
      loading.abort()
      this.#loading.delete(start)
    }
    for (const start of wanted) {
      const window = this.#windows.get(start)
      if (window !== undefined) {
        this.#windows.delete(start)
        this.#windows.set(start, window)
      }
      const isWhole = window !== undefined && window.length >= Math.min(windowRows, this.matched - start)
      if (!isWhole && !this.#loading.has(start)) void this.#read(start)
    }
  }

  /**
   * Reads a window for a search through the list. Returns its rows.
   *
   * @throws AbortError if another list was drawn meanwhile
   */
  async rowsFrom(start: number, signal: AbortSignal): Promise<readonly Row[]> {
    const window = this.#windows.get(start)
    if (window !== undefined && window.length >= Math.min(windowRows, this.matched - start)) return window
    const drawn = this.#drawn
    const answer = await this.#load(this.#until, start, windowRows, signal)
    if (drawn !== this.#drawn) throw new DOMException('another list is shown', 'AbortError')
    this.#keep(start, answer)
    return answer.rows
  }

  /** Reads again what was incomplete when it was read: the service was still looking. */
  readOn(from: number): void {
    const start = from - (from % windowRows)
    if (this.#isPinned && !this.complete && !this.#loading.has(start)) void this.#read(start)
  }

  async #read(start: number): Promise<void> {
    const loading = new AbortController()
    this.#loading.set(start, loading)
    try {
      this.#keep(start, await this.#load(this.#until, start, windowRows, loading.signal))
    } catch (error) {
      if (!loading.signal.aborted) this.#onError(error)
    } finally {
      if (this.#loading.get(start) === loading) this.#loading.delete(start)
    }
    if (!loading.signal.aborted) this.#onChange()
  }

  #keep(start: number, { rows, matched, complete, read }: RowsAnswer): void {
    this.#windows.delete(start)
    this.#windows.set(start, rows)
    this.matched = Math.max(matched, start + rows.length)
    this.complete = complete
    this.read = read
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size <= maxWindows) break
      this.#windows.delete(oldest)
    }
  }

  #forget(): void {
    for (const loading of this.#loading.values()) loading.abort()
    this.#loading.clear()
    this.#windows.clear()
    this.read = 1
  }
}
