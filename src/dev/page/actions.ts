/** What the reader can do, by key or by click. Each action is one function, so that both ways do the same. */
import { type EditRequest, type EventDetail, type Level, paths, type Row, type Screen } from '../protocol.ts'
import { api, queryString } from './api.ts'
import { copyText, saveText } from './clipboard.ts'
import { cellText, cellValue, columnsOf } from './columns.ts'
import { rowsWithRoom } from './event-list.ts'
import { count } from './format.ts'
import { escapeUnseen, wholeValue } from './json-nodes.ts'
import { isError } from './levels.ts'
import type { PageControl } from './page-control.ts'
import { allEvents } from './place.ts'
import { windowRows } from './row-windows.ts'
import type { ValueMenu } from './state.ts'

/** Windows that a search for the next error looks through. */
const maxSearchedWindows = 100
const contextMs = 30_000

export class Actions {
  readonly #control: PageControl
  #search: AbortController | undefined

  constructor(control: PageControl) {
    this.#control = control
  }

  get #state() {
    return this.#control.store.state
  }

  // The query

  async edit(change: EditRequest['change']): Promise<void> {
    await this.#control.attempt(async () => {
      const { q } = await api.edit({ q: this.#state.place.q, change })
      this.#control.visit({ q })
    })
  }

  only(path: string, value: string): Promise<void> {
    return this.edit({ kind: 'only', path, value })
  }

  exclude(path: string, value: string): Promise<void> {
    return this.edit({ kind: 'exclude', path, value })
  }

  or(path: string, value: string): Promise<void> {
    return this.edit({ kind: 'or', path, value })
  }

  setLevels(levels: Level[]): Promise<void> {
    return this.edit({ kind: 'levels', levels })
  }

  removeClause(start: number, end: number): Promise<void> {
    return this.edit({ kind: 'remove', start, end })
  }

  /** Takes a clause out of the query, and keeps it to be switched on again. */
  async switchOff(text: string, start: number, end: number): Promise<void> {
    await this.#control.attempt(async () => {
      const { place } = this.#state
      const { q } = await api.edit({ q: place.q, change: { kind: 'remove', start, end } })
      this.#control.visit({ q, off: [...place.off.filter(one => one !== text), text] })
    })
  }

  async switchOn(text: string): Promise<void> {
    await this.#control.attempt(async () => {
      const { place } = this.#state
      const { q } = await api.edit({ q: place.q, change: { kind: 'and', q: text } })
      this.#control.visit({ q, off: place.off.filter(one => one !== text) })
    })
  }

  forgetClause(text: string): void {
    this.#control.visit({ off: this.#state.place.off.filter(one => one !== text) })
  }

  setQuery(q: string): void {
    this.#control.visit({ q })
  }

  // The list

  get #rowCount(): number {
    return rowsWithRoom(this.#control.rows.matched, this.#state.place.lines)
  }

  /** Moves the cursor by so many rows. */
  move(by: number): void {
    const { cursor } = this.#state
    this.moveTo(cursor === null ? 0 : cursor.rank + by)
  }

  moveTo(rank: number): void {
    const last = this.#rowCount - 1
    if (last < 0) return
    this.#control.pin()
    const { cursor, place } = this.#state
    const target = Math.min(Math.max(rank, 0), last)
    this.#control.store.set({ cursor: { rank: target, column: cursor?.column ?? -1 } })
    this.#control.reveal(target)
    // The keys of the list act from now on, and not those of what was clicked last.
    document.getElementById('list')?.focus({ preventScroll: true })
    if (place.sel === 0) return
    const row = this.#control.rows.row(target)
    if (row === undefined) void this.#openWhenRead(target)
    else this.#openInstead(row)
  }

  /** Opens the event of a row that is being read, if the cursor is still there then. */
  async #openWhenRead(rank: number): Promise<void> {
    await this.#control.attempt(async () => {
      const start = rank - (rank % windowRows)
      const window = await this.#control.rows.rowsFrom(start, new AbortController().signal)
      const row = window[rank - start]
      if (row !== undefined && this.#state.cursor?.rank === rank) this.#openInstead(row)
    })
  }

  #openInstead({ n }: Row): void {
    const { sel } = this.#state.place
    if (sel !== 0 && n !== sel) this.#control.visit({ sel: n }, 'replace')
  }

  moveColumn(by: number): void {
    const { cursor, place } = this.#state
    if (cursor === null) return this.moveTo(0)
    const last = columnsOf(place).length - 1
    this.#control.store.set({ cursor: { ...cursor, column: Math.min(Math.max(cursor.column + by, -1), last) } })
  }

  /** Moves to the next row with such a level, also if it has not been read yet. */
  async moveToLevel(isWanted: (row: Row) => boolean, step: 1 | -1, what: string): Promise<void> {
    this.#control.pin()
    this.#search?.abort()
    const search = new AbortController()
    this.#search = search
    const { rows } = this.#control
    const { cursor } = this.#state
    await this.#control.attempt(async () => {
      let rank = cursor === null ? (step > 0 ? 0 : -1) : cursor.rank + step
      for (let windows = 0; windows < maxSearchedWindows && rank >= 0 && rank < this.#rowCount; windows++) {
        const start = rank - (rank % windowRows)
        const window = await rows.rowsFrom(start, search.signal)
        if (search.signal.aborted) return
        for (; rank >= start && rank < start + window.length; rank += step) {
          const row = window[rank - start]
          if (row !== undefined && isWanted(row)) return this.moveTo(rank)
        }
        if (window.length === 0) break
      }
      const isEnd = rank < 0 || rank >= this.#rowCount
      const searched = count(maxSearchedWindows * windowRows)
      const way = step > 0 ? 'below' : 'above'
      this.#control.toast(isEnd ? `No ${what} ${way}.` : `No ${what} in the next ${searched} rows.`)
    })
  }

  nextError(step: 1 | -1): Promise<void> {
    return this.moveToLevel(row => isError(row.level), step, 'error')
  }

  nextWarning(step: 1 | -1): Promise<void> {
    return this.moveToLevel(row => row.level === 'warn', step, 'warning')
  }

  selectedRow(): Row | undefined {
    const { cursor } = this.#state
    return cursor === null ? undefined : this.#control.rows.row(cursor.rank)
  }

  /** The event that a key acts on: that of the page, or else the selected one, or the one that is open beside the list. */
  focusedEvent(): Row | EventDetail | undefined {
    const { detail, place } = this.#state
    const open = detail.kind === 'shown' ? detail.event : undefined
    if (place.screen === 'event') return open
    return place.screen === 'events' ? (this.selectedRow() ?? open) : undefined
  }

  openAt(rank: number, column = -1): void {
    const row = this.#control.rows.row(rank)
    if (row === undefined) return
    this.#control.pin()
    this.#control.store.set({ cursor: { rank, column } })
    this.#control.visit({ sel: row.n })
  }

  /** Opens the selected event, or the newest. */
  open(): void {
    if (this.#state.cursor === null) this.moveTo(0)
    const { cursor } = this.#state
    if (cursor !== null) this.openAt(cursor.rank, cursor.column)
  }

  /** Closes what is open, then clears the selection, then follows. */
  escape(): void {
    const { menu, isBrushing, place, cursor, mode } = this.#state
    if (menu !== null) this.#control.store.set({ menu: null })
    else if (isBrushing) this.#control.store.set({ isBrushing: false })
    else if (place.screen === 'trace' || place.screen === 'event') this.show('events')
    else if (place.sel !== 0) this.#control.visit({ sel: 0 })
    else if (cursor !== null || mode.kind === 'pinned') this.#control.follow()
  }

  /** The value that `f` and `x` act on: the cell of the cursor, or the message of its row. */
  focusedValue(): { path: string; value: string } | undefined {
    const { cursor, place } = this.#state
    const row = this.selectedRow()
    if (cursor === null || row === undefined) return undefined
    const columns = columnsOf(place)
    const column = columns[cursor.column] ?? columns.find(({ kind }) => kind === 'message')
    return column === undefined ? undefined : cellValue(row, column, place.columns)
  }

  async onFocused(kind: 'only' | 'exclude' | 'or'): Promise<void> {
    const found = this.focusedValue()
    if (found === undefined) this.#control.toast('Select a value first: j and k choose a row, ← and → a cell.')
    else await this.edit({ kind, ...found })
  }

  // Places

  show(screen: Screen, id = ''): void {
    this.#control.visit({ screen, id })
  }

  showTrace(traceId: string | null | undefined): void {
    if (traceId) this.show('trace', traceId)
    else this.#control.toast('This event has no trace_id.')
  }

  /** Shows all events around one, without the filter. */
  showContext(at: number, n: number): void {
    this.#control.visit({
      ...allEvents,
      q: '',
      from: Math.floor(at - contextMs),
      to: Math.ceil(at + contextMs),
      sel: n,
    })
  }

  mark(): void {
    const { tick, place } = this.#state
    const newest = Math.max(this.#control.rows.until, tick?.newest ?? 0)
    if (place.mark === newest) {
      this.#control.visit({ mark: 0 })
      this.#control.toast('Mark removed.')
    } else {
      this.#control.visit({ mark: newest })
      this.#control.toast('Marked. What arrives from now on is new: is:new')
    }
  }

  clearView(): void {
    const { tick, place } = this.#state
    const before = place.since
    this.#control.visit({ since: Math.max(this.#control.rows.until, tick?.newest ?? 0), sel: 0 })
    this.#control.toast('View cleared. The events are still kept.', () => this.#control.visit({ since: before }))
  }

  async deleteAll(): Promise<void> {
    this.#control.store.set({ dialog: null })
    await this.#control.attempt(async () => void (await api.clear()))
  }

  toggleColumn(path: string): void {
    const { columns } = this.#state.place
    const isShown = columns.includes(path)
    if (!isShown && columns.length >= 12) return this.#control.toast('The list has room for 12 columns.')
    this.#control.visit({ columns: isShown ? columns.filter(one => one !== path) : [...columns, path] })
  }

  setTime(from: number | null, to: number | null): void {
    this.#control.visit({ from, to })
  }

  showLate(): Promise<void> {
    this.#control.store.dismiss('late')
    return this.edit({ kind: 'and', q: 'is:late' })
  }

  // Copies

  async copy(text: string | Promise<string>, what = 'Copied.'): Promise<void> {
    const isCopied = copyText(text).then(
      () => true,
      () => false,
    )
    await this.#control.attempt(async () => {
      await text // The error of a text that cannot be read says more than that of the clipboard.
      this.#control.toast((await isCopied) ? what : 'The browser did not let this page copy.')
    })
  }

  /** Copies the JSON of the open or selected event. */
  async copyEvent(): Promise<void> {
    const event = this.focusedEvent()
    if (event === undefined) return this.#control.toast('Select an event first.')
    const { detail } = this.#state
    const shown = detail.kind === 'shown' && detail.event.id === event.id ? detail.event : undefined
    const text = shown ? escapeUnseen(shown.line) : api.event({ id: event.id }).then(({ line }) => escapeUnseen(line))
    await this.copy(text, 'JSON copied.')
  }

  /** Copies a value. One that its row may show cut is read from the event. */
  async copyValue({ path, value, of }: ValueMenu): Promise<void> {
    const shown = cellText(value)
    const isPart = of !== undefined && (shown.endsWith('…') || /^[[{]/.test(value))
    const text = isPart
      ? api.event({ id: of }).then(({ line }) => wholeValue(line, path) ?? escapeUnseen(shown))
      : escapeUnseen(shown)
    await this.copy(text, 'Value copied.')
  }

  copyLink(): Promise<void> {
    return this.copy(location.href, 'Link copied.')
  }

  /** The address of all matches as NDJSON. */
  exportAddress(): string {
    const { q, since, from, to, mark, sort } = this.#state.place
    const until = this.#state.mode.kind === 'pinned' ? this.#control.rows.until : undefined
    return paths.export + queryString({ q, since, from, to, mark, sort, until })
  }

  /** Saves the rows that only this page still has. */
  exportRows(): void {
    const lines = this.#control.rows.heldRows().map(row => escapeUnseen(JSON.stringify(row)))
    saveText('logferry-rows.ndjson', 'application/x-ndjson', `${lines.join('\n')}\n`)
  }

  async sendTestEvent(): Promise<void> {
    await this.#control.attempt(async () => void (await api.sendTestEvent()))
  }
}
