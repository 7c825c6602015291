/** The columns of the list: those that each event has, and those that the reader has chosen. */
import type { Row } from '../protocol.ts'
import type { Place } from './place.ts'

export interface Column {
  /** The field that the column shows, as a query names it. */
  path: string
  title: string
  /** Name of the class that gives the width. */
  kind: 'time' | 'level' | 'source' | 'message' | 'field' | 'trace'
}

export function columnsOf(place: Place): Column[] {
  return [
    { path: '_time', title: 'Time', kind: 'time' },
    { path: 'level', title: 'Level', kind: 'level' },
    { path: 'source', title: 'Source', kind: 'source' },
    { path: 'message', title: 'Message', kind: 'message' },
    ...place.columns.map((path): Column => ({ path, title: path, kind: 'field' })),
    { path: 'trace_id', title: 'Trace', kind: 'trace' },
  ]
}

/** The value of a cell as the query names it: path and JSON text. `undefined` if the event lacks the field. */
export function cellValue(
  row: Row,
  column: Column,
  chosen: readonly string[],
): { path: string; value: string } | undefined {
  const textOf = (path: string, text: string | null | undefined) =>
    text === null || text === undefined || text === '' ? undefined : { path, value: JSON.stringify(text) }
  switch (column.kind) {
    case 'time':
      return textOf('_time', row.time)
    case 'level':
      return textOf('level', row.level ?? row.levelText)
    case 'source':
      return row.source === null ? textOf('dataset', row.dataset) : textOf('source', row.source)
    case 'message':
      return textOf('message', row.message)
    case 'trace':
      return textOf('trace_id', row.traceId)
    case 'field': {
      const value = row.cells[chosen.indexOf(column.path)]
      return value === null || value === undefined ? undefined : { path: column.path, value }
    }
  }
}

/** The text of a cell: a string without its quotes, anything else as its JSON. */
export function cellText(json: string): string {
  if (!json.startsWith('"')) return json
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : json
  } catch {
    return json // cut in the middle
  }
}
