/**
 * The list of events: rows of one fixed height, of which only those on the screen exist. With a fixed height, the place
 * of a row is a product and no row is ever measured, so nothing moves when events arrive.
 */
import { columnsOf } from './columns.ts'
import { EventRow, type RowContext } from './event-row.ts'
import { clockSeconds, count, day } from './format.ts'
import { isPaused } from './list-mode.ts'
import type { PageControl } from './page-control.ts'
import type { State } from './state.ts'
import { highlightOf } from './visible-text.ts'

const rowHeights = { 1: 26, 3: 62 } as const
const headHeight = 30
const overscan = 8
/** Browsers place nothing beyond about 17 million pixels. */
const maxHeight = 16_000_000

/** Number of rows that the list has room for, of those of a result. */
export function rowsWithRoom(matched: number, lines: 1 | 3): number {
  return Math.min(matched, Math.floor(maxHeight / rowHeights[lines]))
}

export class EventList {
  readonly #control: PageControl
  readonly #grid: HTMLElement
  readonly #head: HTMLElement
  readonly #space: HTMLElement
  readonly #rows: EventRow[] = []
  #context: RowContext = { columns: [], chosen: [], highlight: null, now: 0, mark: 0 }
  #lines: 1 | 3 = 1
  #frame = 0
  /** The offset that the page has set itself; another one is the reader's. */
  #ownOffset = 0
  #viewport = 0
  #activeId = ''

  constructor(grid: HTMLElement, control: PageControl) {
    this.#grid = grid
    this.#control = control
    this.#head = document.createElement('div')
    this.#head.className = 'row head'
    this.#head.setAttribute('role', 'row')
    this.#head.ariaRowIndex = '1'
    this.#space = document.createElement('div')
    this.#space.className = 'space'
    this.#space.setAttribute('role', 'rowgroup')
    grid.append(this.#head, this.#space)
    control.scrollToTop = () => this.#scrollTo(0)
    control.reveal = rank => this.#reveal(rank)
    this.#update(control.store.state, undefined)
  }

  /** Starts to draw. Returns the function that ends it. */
  start(): () => void {
    const end = new AbortController()
    const { signal } = end
    this.#grid.addEventListener('scroll', () => this.#onScroll(), { signal, passive: true })
    this.#grid.addEventListener('pointermove', event => this.#onPointer(event), { signal, passive: true })
    const resize = new ResizeObserver(() => {
      this.#viewport = this.#grid.clientHeight
      this.#draw()
    })
    resize.observe(this.#grid)
    this.#viewport = this.#grid.clientHeight
    const unsubscribe = this.#control.store.subscribe((state, before) => this.#update(state, before))
    this.#draw()
    return () => {
      end.abort()
      resize.disconnect()
      unsubscribe()
      cancelAnimationFrame(this.#frame)
    }
  }

  /** Rows that the screen has room for. */
  get pageRows(): number {
    return Math.max(Math.floor((this.#viewport - headHeight) / this.#rowHeight) - 1, 1)
  }

  /** The row and the column under an element. */
  placeOf(target: EventTarget | null): { rank: number; column: number } | undefined {
    if (!(target instanceof Element)) return undefined
    const element = target.closest('.row')
    const row = this.#rows.find(one => one.element === element)
    if (row?.row === undefined) return undefined
    const column = target.closest<HTMLElement>('.cell')?.dataset.column
    return { rank: row.rank, column: column === undefined ? -1 : Number(column) }
  }

  /** Where a cell is on the screen. */
  boxOf(rank: number, column: number): DOMRect | undefined {
    const row = this.#rows.find(one => one.rank === rank)
    if (row === undefined) return undefined
    return (document.getElementById(row.cellId(column)) ?? row.element).getBoundingClientRect()
  }

  get #rowHeight(): number {
    return rowHeights[this.#lines]
  }

  #update(state: State, before: State | undefined): void {
    const { place, reading } = state
    if (before === undefined || place.columns !== before.place.columns) this.#setColumns(state)
    if (before === undefined || reading !== before.reading || place.mark !== before.place.mark) {
      this.#context = { ...this.#context, highlight: highlightOf(reading.highlight), mark: place.mark }
    }
    if (before === undefined || state.settings.utc !== before.settings.utc) this.#context = { ...this.#context }
    const now = state.tick?.now ?? Date.now()
    if (day(now) !== day(this.#context.now)) this.#context = { ...this.#context, now }
    if (place.lines !== this.#lines) {
      this.#lines = place.lines
      this.#grid.classList.toggle('three-lines', place.lines === 3)
    }
    this.#schedule()
  }

  #setColumns({ place }: State): void {
    const columns = columnsOf(place)
    this.#context = { ...this.#context, columns, chosen: place.columns }
    this.#grid.ariaColCount = String(columns.length)
    this.#grid.style.setProperty('--fields', String(place.columns.length))
    this.#grid.classList.toggle('with-fields', place.columns.length > 0)
    this.#head.replaceChildren(
      ...columns.map(({ title, kind, path }, at) => {
        const cell = document.createElement('div')
        cell.className = `cell ${kind}`
        cell.setAttribute('role', 'columnheader')
        cell.ariaColIndex = String(at + 1)
        cell.textContent = title
        cell.title = path
        return cell
      }),
    )
  }

  #schedule(): void {
    if (this.#frame !== 0) return
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0
      this.#draw()
    })
  }

  #draw(): void {
    const { rows } = this.#control
    const { cursor, complete, mode } = this.#control.store.state
    const height = this.#rowHeight
    const shownRows = this.#setHeight()
    this.#grid.ariaRowCount = complete ? String(shownRows + 1) : '-1'
    this.#grid.ariaBusy = String(!complete)

    const first = Math.max(Math.floor(this.#grid.scrollTop / height) - overscan, 0)
    const needed = Math.ceil(this.#viewport / height) + 2 * overscan
    const last = Math.min(first + needed, shownRows) - 1
    while (this.#rows.length < needed) this.#addRow()
    if (mode.kind !== 'following' || first > 0) this.#control.onShown(first, last)

    let hasDays = false
    for (let at = 0; at < this.#rows.length; at++) {
      const row = this.#rows[(first + at) % this.#rows.length] as EventRow
      const rank = first + at
      const isShown = rank <= last
      row.element.hidden = !isShown
      if (!isShown) {
        row.rank = -1
        continue
      }
      if (row.rank !== rank || row.element.style.transform === '') {
        row.element.style.transform = `translateY(${rank * height}px)`
      } else if (row.element.dataset.lines !== String(this.#lines)) {
        row.element.style.transform = `translateY(${rank * height}px)`
      }
      row.element.dataset.lines = String(this.#lines)
      row.fill(rank, rows.row(rank), rank > 0 ? rows.row(rank - 1) : undefined, this.#context)
      row.select(cursor?.rank === rank, cursor?.column ?? -1)
      if (row.row !== undefined && row.element.firstChild?.textContent?.includes(' ')) hasDays = true
    }
    this.#grid.classList.toggle('with-days', hasDays)
    this.#setActive()
  }

  /** Makes room for the rows of the present result. Returns their number. */
  #setHeight(): number {
    const shownRows = rowsWithRoom(this.#control.rows.matched, this.#lines)
    this.#space.style.height = `${shownRows * this.#rowHeight}px`
    return shownRows
  }

  #addRow(): void {
    const row = new EventRow(`row-${this.#rows.length}`)
    this.#rows.push(row)
    this.#space.append(row.element)
    // The rank decides which element shows a row, so a new element changes it for all of them.
    for (const one of this.#rows) one.element.style.transform = ''
  }

  #setActive(): void {
    const { cursor } = this.#control.store.state
    const row = cursor === null ? undefined : this.#rows.find(one => one.rank === cursor.rank)
    const id =
      row === undefined || cursor === null ? '' : cursor.column < 0 ? row.element.id : row.cellId(cursor.column)
    if (id === this.#activeId) return
    this.#activeId = id
    if (id === '') this.#grid.removeAttribute('aria-activedescendant')
    else this.#grid.setAttribute('aria-activedescendant', id)
  }

  #scrollTo(offset: number): void {
    this.#ownOffset = offset
    this.#grid.scrollTop = offset
    this.#ownOffset = this.#grid.scrollTop
  }

  /** Scrolls as little as shows the row. */
  #reveal(rank: number): void {
    this.#setHeight() // A browser scrolls no further than the height, which may be that of an earlier result.
    const top = rank * this.#rowHeight
    const room = this.#viewport - headHeight - this.#rowHeight
    const offset = this.#grid.scrollTop
    if (top < offset) this.#scrollTo(top)
    else if (top > offset + room) this.#scrollTo(top - room)
    this.#draw()
  }

  #onScroll(): void {
    const offset = this.#grid.scrollTop
    const isOwn = Math.abs(offset - this.#ownOffset) < 1
    const { mode, place, cursor } = this.#control.store.state
    if (!isOwn) {
      const wasAway = this.#ownOffset > 0
      this.#ownOffset = offset
      if (offset > 0) this.#control.pin()
      else if (wasAway && mode.kind === 'pinned' && !isPaused(mode) && place.sel === 0 && cursor === null) {
        this.#control.follow()
      }
    }
    this.#draw()
  }

  #onPointer(event: PointerEvent): void {
    if (event.pointerType === 'mouse') this.#control.hold()
  }
}

/** A sentence on the list for its name. */
export function listLabel({ matchedEvents, mode }: State): string {
  const since = mode.kind === 'pinned' ? `, as of ${clockSeconds(mode.since)}` : ''
  return `Events, newest first: ${count(matchedEvents)}${since}`
}
