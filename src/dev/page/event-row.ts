/** One row of the list: an element that is filled again and again with the events that pass. */
import type { Badge, Row } from '../protocol.ts'
import { type Column, cellText, cellValue } from './columns.ts'
import { count, duration, listTime } from './format.ts'
import { levelMarks } from './levels.ts'
import { showText } from './show-text.ts'

export interface RowContext {
  columns: readonly Column[]
  chosen: readonly string[]
  highlight: RegExp | null
  now: number
  /** Arrival number of the mark; 0 for none. */
  mark: number
}

const badgeTexts: Readonly<Record<Badge, (row: Row) => string>> = {
  late: row => (row.skewMs === undefined ? 'late' : `late ${duration(row.skewMs)}`),
  clock: row => (row.skewMs === undefined ? 'clock' : `clock ${row.skewMs > 0 ? '+' : ''}${duration(row.skewMs)}`),
  'no-time': () => 'no time',
  cut: () => 'cut',
  duplicate: () => 'duplicate',
  new: () => 'new',
  forgotten: () => 'forgotten',
}

const sourceColors = 8

export class EventRow {
  readonly element: HTMLDivElement
  rank = -1
  #row: Row | undefined
  #columns: readonly Column[] = []
  #cells: HTMLElement[] = []
  #context: RowContext | undefined
  #isBelowMark = false
  readonly #level = document.createElement('span')
  readonly #mark = document.createElement('span')
  readonly #message = document.createElement('span')
  readonly #badges = document.createElement('span')
  readonly #repeats = document.createElement('span')

  constructor(id: string) {
    this.element = document.createElement('div')
    this.element.className = 'row'
    this.element.id = id
    this.element.setAttribute('role', 'row')
    this.#mark.className = 'mark'
    this.#mark.ariaHidden = 'true'
    this.#level.className = 'word'
    this.#message.className = 'text'
    this.#badges.className = 'badges'
    this.#repeats.className = 'repeats'
  }

  get row(): Row | undefined {
    return this.#row
  }

  cellId(column: number): string {
    return `${this.element.id}-${column}`
  }

  /** Shows an event, or that it has not been read yet. Does nothing if the row shows it already. */
  fill(rank: number, row: Row | undefined, before: Row | undefined, context: RowContext): void {
    const isBelowMark =
      context.mark !== 0 &&
      row !== undefined &&
      before !== undefined &&
      row.n <= context.mark &&
      before.n > context.mark
    const isSame = row === this.#row && context === this.#context && isBelowMark === this.#isBelowMark
    if (rank !== this.rank) this.element.ariaRowIndex = String(rank + 2) // The header is the first row.
    this.rank = rank
    if (isSame) return
    if (context.columns !== this.#columns) this.#makeCells(context.columns)
    this.#row = row
    this.#context = context
    this.#isBelowMark = isBelowMark
    this.#setClass(row, isBelowMark)
    if (row === undefined) {
      this.#empty(context)
    } else {
      this.#fillCells(row, context)
    }
  }

  select(isSelected: boolean, column: number): void {
    this.element.ariaSelected = String(isSelected)
    for (const [at, cell] of this.#cells.entries()) cell.classList.toggle('focused', isSelected && at === column)
  }

  #makeCells(columns: readonly Column[]): void {
    this.#columns = columns
    this.#cells = columns.map(({ kind }, at) => {
      const cell = document.createElement('div')
      cell.className = `cell ${kind}`
      cell.id = this.cellId(at)
      cell.setAttribute('role', 'gridcell')
      cell.ariaColIndex = String(at + 1)
      cell.dataset.column = String(at)
      if (kind === 'level') cell.append(this.#mark, this.#level)
      if (kind === 'message') cell.append(this.#message, this.#badges, this.#repeats)
      return cell
    })
    this.element.replaceChildren(...this.#cells)
  }

  #setClass(row: Row | undefined, isBelowMark: boolean): void {
    const source = row === undefined ? '' : ` source-${hashOf(row.source ?? row.dataset) % sourceColors}`
    const level = row?.level ? ` ${row.level}` : ''
    const className = `row${row === undefined ? ' unread' : ''}${level}${source}${isBelowMark ? ' below-mark' : ''}`
    if (this.element.className !== className) this.element.className = className
  }

  #fillCells(row: Row, context: RowContext): void {
    const { highlight, now, chosen } = context
    for (const [at, column] of this.#columns.entries()) {
      const cell = this.#cells[at]
      if (cell === undefined) continue
      if (column.kind === 'time') showText(cell, listTime(row.at, now), {})
      else if (column.kind === 'level') this.#fillLevel(row)
      else if (column.kind === 'source') showText(cell, row.source ?? row.dataset, {})
      else if (column.kind === 'trace') showText(cell, row.traceId?.slice(0, 8) ?? '–', {})
      else if (column.kind === 'field') {
        const found = cellValue(row, column, chosen)
        showText(cell, found === undefined ? '–' : cellText(found.value), { highlight })
      }
    }
    this.#fillMessage(row.message, badgesOf(row), row.repeats, context)
  }

  /** Shows that the event has not been read yet. */
  #empty(context: RowContext): void {
    for (const [at, { kind }] of this.#columns.entries()) {
      const cell = this.#cells[at]
      if (cell !== undefined && kind !== 'level' && kind !== 'message') showText(cell, '', {})
    }
    this.#mark.textContent = ''
    showText(this.#level, '', {})
    this.#fillMessage('', [], 0, context)
  }

  #fillLevel({ level, levelText }: Row): void {
    const mark = level === null ? '' : levelMarks[level]
    if (this.#mark.textContent !== mark) this.#mark.textContent = mark
    showText(this.#level, levelText ?? level ?? '–', {})
  }

  #fillMessage(message: string, badges: readonly string[], repeats: number, { highlight }: RowContext): void {
    showText(this.#message, message, { highlight })
    const shown = badges.join('|')
    if (this.#badges.dataset.shown !== shown) {
      this.#badges.dataset.shown = shown
      this.#badges.replaceChildren(
        ...badges.map(text => {
          const badge = document.createElement('span')
          badge.className = 'badge'
          badge.textContent = text
          return badge
        }),
      )
    }
    const times = repeats > 1 ? `×${count(repeats)}` : ''
    if (this.#repeats.textContent !== times) this.#repeats.textContent = times
  }
}

function badgesOf(row: Row): string[] {
  return row.badges.map(badge => badgeTexts[badge]?.(row) ?? '').filter(text => text !== '')
}

function hashOf(text: string): number {
  let hash = 0
  for (let at = 0; at < Math.min(text.length, 64); at++) hash = (hash * 31 + text.charCodeAt(at)) >>> 0
  return hash
}
