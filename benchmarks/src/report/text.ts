import { styleText } from 'node:util'
import { labelOf, written } from './figure-labels.ts'
import { busyNote } from './machine.ts'
import {
  type ExperimentResults,
  figureOf,
  interruptedNote,
  type Results,
  type Row,
  valuesOf,
  whatIsMissing,
  whyNone,
} from './results.ts'
import { isMet, type Target, targetsOf } from './targets.ts'

/** The results as tables of text. */
export function resultsAsText(results: Results): string {
  const { machine, version, startedAt } = results
  const parts = [
    `logferry ${version}, ${startedAt}: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${machine.node}`,
    ...results.experiments.map(experimentAsText),
  ]
  if (results.interrupted) parts.push(interruptedNote)
  const busy = busyNote(machine)
  const targets = targetsOf(results).filter(({ value }) => value !== undefined)
  if (targets.length > 0) parts.push(targetsAsText(targets))
  if (busy !== undefined) parts.push(busy)
  return parts.join('\n\n')
}

function experimentAsText({ name, question, shows, rows }: ExperimentResults): string {
  const figures = shows.filter(figure => rows.some(row => valuesOf(row, figure).length > 0))
  const hasVariants = rows.some(({ variant }) => variant !== '')
  const head = [...(hasVariants ? ['', ''] : ['']), ...figures.map(figure => labelOf(figure).title)]
  const units = [...(hasVariants ? ['', ''] : ['']), ...figures.map(figure => labelOf(figure).unit)]
  const measured = rows.filter(row => whyNone(row) === undefined)
  const body = measured.map(row => [
    ...(hasVariants ? [row.variant, row.subject] : [row.subject]),
    ...figures.map(figure => cell(row, figure)),
  ])
  const lines = aligned([head, units, ...body], hasVariants ? 2 : 1)
  const missing = rows.flatMap(row => {
    const why = whatIsMissing(row)
    return why === undefined ? [] : [`  ${`${row.subject} ${row.variant}`.trim()}: ${why}`]
  })
  return [styleText('bold', `${name}: ${question}`), ...lines, ...missing].join('\n')
}

/** The median, and how far the rounds lie apart where they do. Nothing is lost in most rounds is not nothing is lost. */
function cell(row: Row, figure: string): string {
  const summary = figureOf(row, figure)
  if (summary === undefined) return ''
  const { median, least, most } = summary
  if (median === 0 && most > 0) return `${written(figure, median)}, up to ${written(figure, most)}`
  const spread = median === 0 ? 0 : (most - least) / 2 / Math.abs(median)
  return spread < 0.005 ? written(figure, median) : `${written(figure, median)} ±${Math.round(spread * 100)}%`
}

function targetsAsText(targets: readonly Target[]): string {
  const rows = targets.map(target => {
    const met = isMet(target)
    return [target.name, valueAsText(target), boundAsText(target), met === true ? 'met' : 'not met']
  })
  return [styleText('bold', 'Targets, as ratios within this run'), ...aligned(rows, 1)].join('\n')
}

export function valueAsText({ value, unit }: Target): string {
  if (value === undefined) return 'not measured'
  return `${value.toLocaleString('en', { maximumFractionDigits: 2 })} ${unit}`
}

export function boundAsText({ bound, unit }: Target): string {
  return 'atMost' in bound ? `≤ ${bound.atMost} ${unit}` : `≥ ${bound.atLeast} ${unit}`
}

/** Columns of text: the first `left` to the left, the others to the right. */
function aligned(rows: readonly (readonly string[])[], left: number): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => (row[column] ?? '').length)))
  return rows.map(row => {
    const cells = row.map((text, column) => {
      const width = widths[column] ?? 0
      return column < left ? text.padEnd(width) : text.padStart(width)
    })
    return `  ${cells.join('  ')}`.trimEnd()
  })
}
