/** The rows of a pinned list that the page keeps. */
import { describe, expect, it } from 'vitest'
import { RowWindows, windowRows } from '../../src/dev/page/row-windows.ts'
import type { Row, RowsAnswer } from '../../src/dev/protocol.ts'

const matched = 40 * windowRows

function answer(from: number): RowsAnswer {
  const rows = Array.from({ length: windowRows }, (_, at) => ({ n: from + at }) as Row)
  return { from, rows, matched, matchedEvents: matched, complete: true, read: 1 }
}

function pinnedList(): { windows: RowWindows; loaded: number[] } {
  const loaded: number[] = []
  const load = async (_: number, from: number): Promise<RowsAnswer> => {
    loaded.push(from)
    return answer(from)
  }
  const windows = new RowWindows(
    load,
    () => {},
    error => expect.unreachable(String(error)),
  )
  windows.draw({ rows: answer(0).rows, matched, newest: matched, complete: true })
  windows.pin()
  return { windows, loaded }
}

async function look(windows: RowWindows, rank: number): Promise<void> {
  windows.want(rank, rank)
  await new Promise(setImmediate)
}

describe('a pinned list of 40 windows', () => {
  it('has only the last 20 windows that were looked at, and reads the others again', async () => {
    const { windows, loaded } = pinnedList()
    for (let rank = 0; rank < matched; rank += windowRows) await look(windows, rank)
    const held = Array.from({ length: 40 }, (_, window) => windows.row(window * windowRows) !== undefined)
    expect(held).toEqual(Array.from({ length: 40 }, (_, window) => window >= 20))
    loaded.length = 0
    await look(windows, 30 * windowRows)
    expect(loaded).toEqual([])
    await look(windows, 5 * windowRows)
    expect(loaded).toEqual([5 * windowRows])
    expect(windows.row(5 * windowRows + 7)?.n).toBe(5 * windowRows + 7)
  })
})

it('rows keep the values of the columns that stay, in the order of the new columns', () => {
  const { windows } = pinnedList()
  const row = { n: 1, cells: ['1', '2', null] as (string | null)[] } as Row
  windows.draw({ rows: [row], matched: 1, newest: 1, complete: true })
  windows.changeColumns(['a', 'b', 'c'], ['b', 'new', 'a'])
  expect(windows.row(0)?.cells).toEqual(['2', null, '1'])
})

describe('a pinned list that the service still searches', () => {
  it('asks for the rows on the screen once at a time', () => {
    let asked = 0
    const load = () => {
      asked++
      return new Promise<RowsAnswer>(() => {})
    }
    const windows = new RowWindows(
      load,
      () => {},
      error => expect.unreachable(String(error)),
    )
    windows.draw({ rows: [], matched: 0, newest: matched, complete: false })
    windows.pin()
    for (let times = 0; times < 10; times++) windows.readOn(0)
    expect(asked).toBe(1)
  })
})

describe('a search through a list', () => {
  it('ends when another list is drawn, and leaves none of its rows in that list', async () => {
    const { windows } = pinnedList()
    const { signal } = new AbortController()
    const search = windows.rowsFrom(windowRows, signal)
    windows.draw({ rows: answer(0).rows.slice(0, 7), matched: 7, newest: matched, complete: true })
    await expect(search).rejects.toMatchObject({ name: 'AbortError' })
    expect(windows.row(windowRows)).toBeUndefined()
    expect(windows.matched).toBe(7)
  })
})
