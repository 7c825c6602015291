/** Tables of the documentation, and those among them that have their source in the code. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sourceFile } from '../../docs/docstrings.ts'
import { pages, tableNames, tablesIn, withTables } from '../../docs/tables.ts'
import { checkedPages, tablesOf } from './markdown.ts'

it.each(checkedPages())('each row of a table in %s has as many cells as the head of the table', page => {
  const misshapen = tablesOf(page).flatMap(([head = '', ...rows]) => rows.filter(row => cellsOf(row) !== cellsOf(head)))
  expect(misshapen).toEqual([])
})

/** Returns the number of cells in a row. A bar after a backslash belongs to the text of a cell. */
function cellsOf(row: string): number {
  return row.split(/(?<!\\)\|/).length - 2
}

describe.each(pages.map(page => [basename(page.pathname), page] as const))('docs/%s', (_, page) => {
  it('has its tables as the source has them; `npm run docs:tables` updates them', () => {
    const shown = readFileSync(page, 'utf8')
    expect(shown).toBe(withTables(shown))
  })
})

it('each table is in one page', () => {
  const shown = pages.flatMap(page => tablesIn(readFileSync(page, 'utf8')))
  expect(shown.toSorted()).toEqual([...tableNames].sort())
})

it('a marker that names no table is an error', () => {
  expect(() => withTables('<!-- table: colors -->\n<!-- end of table -->')).toThrow("no table is named 'colors'")
})

describe('a table of names and docstrings', () => {
  const ledger = sourceFile(new URL('../../src/accounting/ledger.ts', import.meta.url))

  it('has the members of a type in the order of the source, with the first paragraph of each docstring', () => {
    const reasons = sourceFile(new URL('../../src/accounting/drop-reasons.ts', import.meta.url))
    expect(reasons.membersOf('DropReason').slice(0, 2)).toMatchObject([
      { name: 'memory', text: 'Memory was full (for events of this severity).' },
      { name: 'rejected', text: 'The service refused the event.' },
    ])
    expect(ledger.membersOf('Dropped').map(({ name }) => name)).toContain('wasSent')
  })

  it('does not leave a name without a text', () => {
    expect(() => ledger.membersOf('DropCounts')).toThrow('DropCounts.sent has no docstring')
    expect(() => ledger.membersOf('NoSuchType')).toThrow('does not export NoSuchType')
  })
})
