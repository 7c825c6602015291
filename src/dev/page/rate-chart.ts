/** The rate of events over time, stacked by level, drawn by uPlot. A drag selects a time. */
import uPlot from 'uplot'
import { type Chart, levels } from '../protocol.ts'
import { scaleTimes } from './format.ts'

/** Series of the chart, the highest level on top: the service's order, and those without a level. */
const chartSeries = [...levels, 'none'] as const
type Series = (typeof chartSeries)[number]

interface Colors {
  fill: ReadonlyMap<Series, CanvasPattern | string>
  grid: string
  text: string
}

const height = 96

export interface RateChart {
  show(chart: Chart, range: { from: number | null; to: number | null }): void
  resize(width: number): void
  /** Reads the colors again, for another theme. */
  recolor(): void
  destroy(): void
}

export function rateChart(target: HTMLElement, width: number, onSelect: (from: number, to: number) => void): RateChart {
  let colors = colorsOf(target)
  let stepMs = 1000
  let range: { from: number | null; to: number | null } = { from: null, to: null }

  const bars = uPlot.paths.bars?.({ size: [0.9, 24], align: 1 })
  const series: uPlot.Series[] = chartSeries.map(
    (name): uPlot.Series => ({
      label: name,
      width: 0,
      fill: () => colors.fill.get(name) ?? colors.text,
      points: { show: false },
      ...(bars && { paths: bars }),
    }),
  )
  const axis: Partial<uPlot.Axis> = {
    stroke: () => colors.text,
    grid: { stroke: () => colors.grid, width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  }
  const plot = new uPlot(
    {
      width,
      height,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { time: true },
        y: { range: (_, __, max) => [0, Math.max(max * 1.08, 1)] },
      },
      series: [{}, ...series.toReversed()],
      axes: [
        { ...axis, size: 24, values: timeMarks, space: 90 },
        { ...axis, size: 48, values: (_, splits) => splits.map(shortNumber), space: 26 },
      ],
      hooks: {
        setSelect: [
          self => {
            const { left, width: selected } = self.select
            if (selected < 3) return
            const from = self.posToVal(left, 'x') * 1000
            const to = self.posToVal(left + selected, 'x') * 1000
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            onSelect(Math.floor(from), Math.ceil(to))
          },
        ],
        draw: [self => shadeOutside(self)],
      },
    },
    emptyData(),
    target,
  )

  /** Dims what lies outside of the selected time. */
  function shadeOutside({ ctx, bbox, valToPos }: uPlot): void {
    const { from, to } = range
    if (from === null && to === null) return
    const clamp = (at: number) => Math.min(Math.max(at, bbox.left), bbox.left + bbox.width)
    const start = from === null ? bbox.left : clamp(valToPos(from / 1000, 'x', true))
    const end = to === null ? bbox.left + bbox.width : clamp(valToPos(to / 1000, 'x', true))
    ctx.save()
    ctx.globalAlpha = 0.72
    ctx.fillStyle = ownColorOf(target, 'page')
    ctx.fillRect(bbox.left, bbox.top, start - bbox.left, bbox.height)
    ctx.fillRect(end, bbox.top, bbox.left + bbox.width - end, bbox.height)
    ctx.restore()
  }

  return {
    show(chart, selected) {
      stepMs = chart.stepMs
      range = selected
      const isEmpty = chart.counts.every(byLevel => byLevel.every(count => count === 0))
      plot.setData(isEmpty ? emptyData() : stacked(chart), false)
      const from = chart.from / 1000
      plot.setScale('x', { min: from, max: from + (Math.max(chart.counts.length, 1) * stepMs) / 1000 })
    },
    resize: newWidth => plot.setSize({ width: newWidth, height }),
    recolor() {
      colors = colorsOf(target)
      plot.redraw(true, true)
    },
    destroy: () => plot.destroy(),
  }
}

/** Width that a mark needs on each side of its place, in pixels. */
const markMargin = 30

/** The marks of the time axis. A mark that would be cut at the edge is left out. */
function timeMarks(plot: uPlot, splits: number[], _: number, __: number, increment: number): string[] {
  if (plot.data[0].length === 0) return []
  const last = plot.width - markMargin
  const marks = scaleTimes(
    splits.map(second => Math.round(second * 1000)),
    increment * 1000,
  )
  return marks.map((mark, at) => {
    const left = plot.valToPos(splits[at] ?? 0, 'x') + plot.over.offsetLeft
    return left > last || left < markMargin ? '' : mark
  })
}

function emptyData(): uPlot.AlignedData {
  return [[], ...chartSeries.map(() => [])] as unknown as uPlot.AlignedData
}

/** Each series as the sum of itself and those below it. uPlot draws the highest sum first and the lower ones over it. */
function stacked({ from, stepMs, counts }: Chart): uPlot.AlignedData {
  const times = counts.map((_, at) => (from + at * stepMs) / 1000)
  const sums: number[][] = []
  const total = new Array<number>(counts.length).fill(0)
  // Those without a level are at the bottom, so the fatal ones are on top.
  for (const at of [chartSeries.length - 1, ...levels.keys()]) {
    for (const [bucket, byLevel] of counts.entries()) total[bucket] = (total[bucket] ?? 0) + (byLevel[at] ?? 0)
    sums[at] = [...total]
  }
  return [times, ...sums.toReversed()] as unknown as uPlot.AlignedData
}

function shortNumber(value: number): string {
  if (!Number.isInteger(value)) return ''
  return value >= 1000 ? `${+(value / 1000).toFixed(1)} k` : String(value)
}

/**
 * The colors of the theme. Levels differ by hatching too, for readers who do not tell the colors apart. Colors that the
 * reader has forced on the page apply to lines and text only: in one color, the levels would be one block.
 */
function colorsOf(target: HTMLElement): Colors {
  const color = (name: string) => ownColorOf(target, name)
  const page = color('page')
  const fill = new Map<Series, CanvasPattern | string>([
    ['fatal', hatched(color('fatal'), page, 'cross')],
    ['error', color('error')],
    ['warn', hatched(color('warn'), page, 'rising')],
    ['info', color('chart-info')],
    ['debug', hatched(color('muted'), page, 'dots')],
    ['trace', hatched(color('muted'), page, 'falling')],
    ['none', color('line')],
  ])
  return { fill, grid: colorOf(target, 'line'), text: colorOf(target, 'muted') }
}

/** A token as a color that a canvas knows, whatever colors the reader has forced on the page. */
function ownColorOf(target: HTMLElement, token: string): string {
  return colorOf(target, token, 'none')
}

/** A token as a color that a canvas knows. The token itself has two colors, one for each theme. */
function colorOf(target: HTMLElement, token: string, adjust = 'auto'): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  probe.style.setProperty('forced-color-adjust', adjust)
  target.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function hatched(color: string, page: string, kind: 'cross' | 'rising' | 'falling' | 'dots'): CanvasPattern | string {
  const size = 6
  const tile = document.createElement('canvas')
  tile.width = size
  tile.height = size
  const context = tile.getContext('2d')
  if (context === null) return color
  context.fillStyle = color
  context.fillRect(0, 0, size, size)
  context.strokeStyle = page
  context.fillStyle = page
  context.lineWidth = 1.4
  context.beginPath()
  if (kind === 'dots') context.fillRect(2, 2, 2, 2)
  for (const offset of [-size, 0, size]) {
    if (kind === 'rising' || kind === 'cross') {
      context.moveTo(offset, size)
      context.lineTo(offset + size, 0)
    }
    if (kind === 'falling' || kind === 'cross') {
      context.moveTo(offset, 0)
      context.lineTo(offset + size, size)
    }
  }
  context.stroke()
  return context.createPattern(tile, 'repeat') ?? color
}
