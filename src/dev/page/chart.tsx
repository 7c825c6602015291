/** The chart, the same figures as a table, and the choice of a time by keys. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Chart as ChartData, levels } from '../protocol.ts'
import { clockStep, count, day, plural } from './format.ts'
import { type Props, usePage } from './page-context.ts'
import { type RateChart, rateChart } from './rate-chart.ts'

export function Chart({ state }: Props) {
  const { actions } = usePage()
  const { tick, place, settings, isBrushing } = state
  const target = useRef<HTMLDivElement>(null)
  const chart = useRef<RateChart | null>(null)
  const [showsTable, setShowsTable] = useState(false)
  const { from, to } = place
  const data = tick?.chart

  useEffect(() => {
    const element = target.current
    if (element === null) return
    const made = rateChart(element, element.clientWidth, (start, end) => actions.setTime(start, end))
    chart.current = made
    const resize = new ResizeObserver(() => {
      if (element.clientWidth > 0) made.resize(element.clientWidth)
    })
    resize.observe(element)
    const schemes = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map(query => matchMedia(query))
    const recolor = () => made.recolor()
    for (const scheme of schemes) scheme.addEventListener('change', recolor)
    return () => {
      for (const scheme of schemes) scheme.removeEventListener('change', recolor)
      resize.disconnect()
      made.destroy()
      chart.current = null
    }
  }, [actions])

  useEffect(() => {
    if (data !== undefined) chart.current?.show(data, { from, to })
  }, [data, from, to])

  useEffect(() => chart.current?.recolor(), [settings.theme])

  return (
    <section class="chart" aria-label="Rate" data-region="chart">
      <div
        class="chart-canvas"
        ref={target}
        role="img"
        aria-label={data === undefined ? 'No events yet' : sentence(data)}
      />
      <div class="chart-actions">
        <button type="button" class="link" aria-expanded={showsTable} onClick={() => setShowsTable(!showsTable)}>
          {showsTable ? 'hide table' : 'as table'}
        </button>
        {!isBrushing && (
          <span class="quiet">
            drag, or <kbd>b</kbd>, selects a time
          </span>
        )}
      </div>
      {isBrushing && data !== undefined && <BrushByKeys state={state} data={data} />}
      {showsTable && data !== undefined && <ChartTable data={data} />}
    </section>
  )
}

function totalOf(counts: readonly number[]): number {
  return counts.reduce((sum, value) => sum + value, 0)
}

/** What the chart shows, in words. */
function sentence(data: ChartData): string {
  const { from, stepMs, counts } = data
  const totals = counts.map(totalOf)
  const highest = Math.max(0, ...totals)
  const errors = counts.reduce((sum, byLevel) => sum + (byLevel[4] ?? 0) + (byLevel[5] ?? 0), 0)
  const at = totals.indexOf(highest)
  const peak =
    highest === 0 ? '' : ` At most ${count(highest)} in ${stepMs / 1000} s, at ${timeIn(data, from + at * stepMs)}.`
  const end = timeIn(data, from + counts.length * stepMs)
  return `Events by level from ${timeIn(data, from)} to ${end}: ${count(totalOf(totals))}, of them ${plural(errors, 'error')}.${peak}`
}

/** A time as precisely as the chart has it, with its day if the chart has several. */
function timeIn({ from, stepMs, counts }: ChartData, ms: number): string {
  const time = clockStep(ms, stepMs)
  return day(from) === day(from + counts.length * stepMs) ? time : `${day(ms)} ${time}`
}

const maxTableRows = 60

function ChartTable({ data }: { data: ChartData }) {
  const names = [...levels].toReversed()
  const rows = data.counts
    .map((byLevel, at) => ({ at: data.from + at * data.stepMs, byLevel, total: totalOf(byLevel) }))
    .filter(({ total }) => total > 0)
    .toReversed()
    .slice(0, maxTableRows)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
    <div class="chart-table" tabIndex={0} role="region" aria-label="Figures of the chart">
      <table>
        <thead>
          <tr>
            <th scope="col">from</th>
            <th scope="col">events</th>
            {names.map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, byLevel, total }) => (
            <tr key={at}>
              <th scope="row">{timeIn(data, at)}</th>
              <td>{count(total)}</td>
              {names.map(name => (
                <td key={name}>{count(byLevel[levels.indexOf(name)] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Two sliders that choose a time without a pointer. */
function BrushByKeys({ state, data: latest }: Props & { data: ChartData }) {
  const { actions, control } = usePage()
  // The times of the sliders stay as they were when the choice began: the chart moves on.
  const [data] = useState(latest)
  const last = Math.max(data.counts.length, 1)
  const bucketOf = (time: number | null, otherwise: number) =>
    time === null ? otherwise : Math.min(Math.max(Math.round((time - data.from) / data.stepMs), 0), last)
  const [start, setStart] = useState(bucketOf(state.place.from, 0))
  const [end, setEnd] = useState(bucketOf(state.place.to, last))
  const slider = useRef<HTMLInputElement>(null)
  useEffect(() => slider.current?.focus(), [])
  const timeOf = (bucket: number) => data.from + bucket * data.stepMs
  const finish = () => {
    control.store.set({ isBrushing: false })
    document.getElementById('list')?.focus()
  }
  const apply = () => {
    const [first, second] = start < end ? [start, end] : [end, start]
    actions.setTime(first === 0 ? null : timeOf(first), second === last ? null : timeOf(second))
    finish()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return
    event.preventDefault()
    event.stopPropagation()
    if (event.key === 'Enter') apply()
    else finish()
  }
  return (
    <div class="brush" role="group" aria-label="Time range" onKeyDown={onKeyDown}>
      <label>
        from {timeIn(data, timeOf(start))}
        <input
          ref={slider}
          type="range"
          min={0}
          max={last}
          value={start}
          aria-valuetext={timeIn(data, timeOf(start))}
          onInput={event => setStart(event.currentTarget.valueAsNumber)}
        />
      </label>
      <label>
        to {timeIn(data, timeOf(end))}
        <input
          type="range"
          min={0}
          max={last}
          value={end}
          aria-valuetext={timeIn(data, timeOf(end))}
          onInput={event => setEnd(event.currentTarget.valueAsNumber)}
        />
      </label>
      <button type="button" onClick={apply}>
        Select <kbd>Enter</kbd>
      </button>
      <button type="button" onClick={finish}>
        Cancel <kbd>Esc</kbd>
      </button>
    </div>
  )
}
