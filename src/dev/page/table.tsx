import type { ComponentChildren, Ref } from 'preact'

/** A column of a table: its head and its cells. */
export interface TableColumn<Row> {
  head: string
  /** Numbers stand at the right. */
  isNumber?: true
  /** The column is left out where the page has fewer pixels: on a tablet, or on a phone. */
  minPageWidth?: 1000 | 561
  /** Class of a cell. */
  class?: string | ((row: Row) => string)
  /** Text that the pointer shows on a cell. */
  title?: (row: Row) => string
  cell: (row: Row) => ComponentChildren
}

interface TableProps<Row> {
  columns: readonly TableColumn<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string | number
  class?: string
  rowClass?: (row: Row) => string
  rowRef?: (row: Row) => Ref<HTMLTableRowElement> | null
  /** What stands below the table, and scrolls with it. */
  children?: ComponentChildren
}

/** A table that scrolls sideways where it is wider than the page. */
export function Table<Row>({ columns, rows, keyOf, class: className, rowClass, rowRef, children }: TableProps<Row>) {
  return (
    <div class="table-scroll">
      <table class={className}>
        <thead>
          <tr>
            {columns.map(column => (
              <th key={column.head} scope="col" class={classOf(column) || undefined}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)} class={rowClass?.(row)} ref={rowRef?.(row) ?? null}>
              {columns.map(column => (
                <td
                  key={column.head}
                  class={`${classOf(column)} ${classIn(column, row)}`.trim() || undefined}
                  title={column.title?.(row)}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {children}
    </div>
  )
}

/** Returns the class of the head and of each cell of a column. */
function classOf({ isNumber, minPageWidth }: Pick<TableColumn<never>, 'isNumber' | 'minPageWidth'>): string {
  return [isNumber && 'number', minPageWidth && `from-${minPageWidth}`].filter(Boolean).join(' ')
}

function classIn<Row>({ class: given = '' }: TableColumn<Row>, row: Row): string {
  return typeof given === 'function' ? given(row) : given
}
