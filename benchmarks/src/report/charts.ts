import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { setUps } from '../set-ups/catalogue.ts'
import type { Family } from '../set-ups/set-up.ts'
import { labelOf, written } from './figure-labels.ts'
import { type ExperimentResults, figureOf } from './results.ts'

/** Whose a bar is. */
type Group = 'logferry' | 'another library' | 'bare loop' | 'ships nothing' | 'a part'

export const groupColours: Readonly<Record<Group, string>> = {
  logferry: '#2a78d6',
  'another library': '#d9822b',
  'bare loop': '#6b8f71',
  'ships nothing': '#a3a9b2',
  'a part': '#7f86a8',
}

const groupOfFamily: Readonly<Record<Family, Group>> = {
  ours: 'logferry',
  peer: 'another library',
  limit: 'bare loop',
  floor: 'ships nothing',
}

/** What is no set-up is a part of one: a piece of work, a module, a program. */
function groupOf(subject: string): Group {
  const family = setUps.find(({ name }) => name === subject)?.family
  if (family !== undefined) return groupOfFamily[family]
  return subject.includes('logferry') ? 'logferry' : 'a part'
}

interface Bar {
  readonly subject: string
  readonly variant: string
  readonly group: Group
  readonly median: number
  readonly least: number
  readonly most: number
  readonly text: string
}

const width = 900
const rowHeight = 22

/** A bar for each case of an experiment, with the spread of its rounds; as the text of an SVG. */
export function chart({ rows }: ExperimentResults, figure: string): string | undefined {
  const { title, unit, better } = labelOf(figure)
  const factor = figure === 'coreShare' ? 100 : 1
  const bars = rows.flatMap(({ subject, variant, ...row }): Bar[] => {
    const summary = figureOf({ subject, variant, ...row }, figure)
    if (summary === undefined) return []
    const [median, least, most] = [summary.median, summary.least, summary.most].map(value => value * factor) as [
      number,
      number,
      number,
    ]
    return [{ subject, variant, group: groupOf(subject), median, least, most, text: written(figure, summary.median) }]
  })
  if (bars.length === 0) return undefined

  const variants = [...new Set(bars.map(({ variant }) => variant))]
  const subjects = [...new Set(bars.map(({ subject }) => subject))]
  const hasVariants = variants.length > 1
  const { document } = parseHTML('<html><body></body></html>')
  const svg = Plot.plot({
    document: document as unknown as Document,
    width,
    height: 76 + (subjects.length * rowHeight + 10) * (hasVariants ? variants.length : 1),
    marginLeft: 290,
    marginBottom: 44,
    marginRight: hasVariants ? 150 : 70,
    x: {
      label: `${title}${unit === '' ? '' : `, ${unit}`} (${better} is better)`,
      labelOffset: 38,
      grid: true,
      nice: true,
      zero: true,
    },
    y: { label: null, domain: subjects },
    ...(hasVariants && { fy: { label: null, domain: variants } }),
    color: { domain: Object.keys(groupColours), range: Object.values(groupColours) },
    marks: [
      Plot.barX(bars, {
        x: 'median',
        y: 'subject',
        fill: 'group',
        rx: 2,
        title: bar => `${bar.subject} ${bar.variant}: ${bar.text} ${unit}`.replace('  ', ' '),
        ...(hasVariants && { fy: 'variant' }),
      }),
      Plot.ruleY(bars, {
        x1: 'least',
        x2: 'most',
        y: 'subject',
        strokeOpacity: 0.55,
        strokeWidth: 1.5,
        ...(hasVariants && { fy: 'variant' }),
      }),
      Plot.text(bars, {
        x: 'most',
        y: 'subject',
        text: 'text',
        textAnchor: 'start',
        dx: 6,
        ...(hasVariants && { fy: 'variant' }),
      }),
      Plot.ruleX([0]),
    ],
  })
  return svg.outerHTML
}
