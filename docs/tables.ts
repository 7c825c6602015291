/**
 * Writes the tables of the documentation that have their source in the code: options, events, metrics, counters, codes.
 *
 *     npm run docs:tables
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { optionTables } from './option-tables.ts'
import { sourceTables } from './source-tables.ts'

const tables: ReadonlyMap<string, () => string> = new Map(Object.entries({ ...optionTables, ...sourceTables }))

/** A table between its markers. */
const marked = /(<!-- table: ([a-z ]+)[^>]*-->\n).*?(<!-- end of table -->)/gs

/** The pages that have such tables. */
export const pages = readdirSync(new URL('.', import.meta.url))
  .filter(name => name.endsWith('.md'))
  .map(name => new URL(name, import.meta.url))
  .filter(page => readFileSync(page, 'utf8').includes('<!-- table: '))

/** The names of all tables. */
export const tableNames: readonly string[] = [...tables.keys()]

/** Returns the names of the tables in a page. */
export function tablesIn(page: string): string[] {
  return [...page.matchAll(marked)].map(([, , name = '']) => name.trim())
}

/**
 * Returns a page with its tables as the source has them.
 *
 * @throws Error if a marker names an unknown table
 */
export function withTables(page: string): string {
  return page.replace(marked, (_, begin: string, name: string, end: string) => {
    const table = tables.get(name.trim())
    if (table === undefined) throw new Error(`no table is named '${name.trim()}'`)
    return `${begin}\n${table()}\n${end}`
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of pages) writeFileSync(page, withTables(readFileSync(page, 'utf8')))
}
