/** Bytes by log statement: what costs most, and what a change would save. */
import type { CostAnswer, Level } from '../protocol.ts'
import { api } from './api.ts'
import { bytes, count, duration, percent, shortCount } from './format.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Bar, Go, LevelLabel, Plain, Text } from './parts.tsx'
import { Table, type TableColumn } from './table.tsx'

const maxStatements = 100
const refreshMs = 3000
/** A statement of such a share and so many events is worth sampling, if all of its events are of a low level. */
const largeShare = 0.1
const manyEvents = 10
const sampled: readonly (Level | null)[] = ['trace', 'debug', 'info', null]
/** Part of the events that a sample of 1 in 10 leaves out. */
const leftOut = 0.9
/** A field that makes up so much of a statement is worth a look. */
const heavyField = 0.5

export function CostScreen({ state }: Props) {
  const { control } = usePage()
  const { q, since, mark, from, to } = state.place
  const { settings } = state
  const { answer, error } = useAnswer(
    signal => api.cost({ q, since, mark, from, to, limit: maxStatements }, signal),
    [q, since, mark, from, to],
    refreshMs,
  )
  if (answer === undefined) {
    return (
      <main class="screen" id="main">
        <Plain title={error ?? 'Loading …'} />
      </main>
    )
  }
  const { instances, hours } = settings.cost
  const set = (change: Partial<typeof settings.cost>) =>
    control.saveSettings({ ...settings, cost: { ...settings.cost, ...change } })
  const { bytesPerSecond, monthlyBytes, monthlyLimit } = answer
  const projected = monthlyBytes * instances * (hours / 24)
  const isFiltered = q.trim() !== '' || since !== 0 || from !== null || to !== null
  return (
    <main class="screen" id="main">
      <header class="screen-head">
        <h1>Cost</h1>
        <p>
          <b>{bytes(bytesPerSecond)}/s</b> over the last minute = {bytes(monthlyBytes)} a month
        </p>
        <label>
          <input
            type="number"
            min={1}
            max={100000}
            value={instances}
            aria-label="Instances"
            onChange={event => set({ instances: Math.max(event.currentTarget.valueAsNumber || 1, 1) })}
          />{' '}
          instances
        </label>
        <label>
          <input
            type="number"
            min={1}
            max={24}
            value={hours}
            aria-label="Hours a day"
            onChange={event => set({ hours: Math.min(Math.max(event.currentTarget.valueAsNumber || 24, 1), 24) })}
          />{' '}
          hours a day
        </label>
        <p>
          → <b>{bytes(projected)}</b> a month
          {monthlyLimit !== null && monthlyLimit > 0 && (
            <>
              {' '}
              = {share(projected / monthlyLimit)} the {bytes(monthlyLimit)} of the license
            </>
          )}
        </p>
      </header>
      {answer.statements.length === 0 ? (
        <Plain title={state.kept === 0 ? 'No event has arrived yet.' : 'No event matches.'} />
      ) : (
        <Statements answer={answer} monthlyBytes={isFiltered ? 0 : projected} />
      )}
    </main>
  )
}

function share(times: number): string {
  if (times >= 10) return `${count(Math.round(times))} ×`
  return times >= 1 ? `${times.toFixed(1)} ×` : `${percent(times)} of`
}

interface StatementsProps {
  answer: CostAnswer
  /** What all of the statements come to in a month, or 0 if it is not known. */
  monthlyBytes: number
}

function Statements({ answer, monthlyBytes }: StatementsProps) {
  return (
    <>
      <p class="quiet">
        {count(answer.events)} events, {bytes(answer.bytes)}, over {duration(Math.max(answer.to - answer.from, 0))}
      </p>
      <Table
        columns={columnsOf(monthlyBytes)}
        rows={answer.statements}
        keyOf={({ dataset, level, statement }) => `${dataset} ${level} ${statement}`}
      />
    </>
  )
}

type Statement = CostAnswer['statements'][number]

function columnsOf(monthlyBytes: number): readonly TableColumn<Statement>[] {
  return [
    {
      head: 'Share',
      class: 'share',
      cell: ({ share }) => (
        <>
          <span class="number">{percent(share)}</span>
          <Bar share={share} />
        </>
      ),
    },
    { head: 'Bytes', isNumber: true, minPageWidth: 561, cell: one => bytes(one.bytes) },
    { head: 'Events', isNumber: true, minPageWidth: 561, cell: ({ events }) => shortCount(events) },
    { head: 'Each', isNumber: true, minPageWidth: 561, cell: one => bytes(one.bytes / Math.max(one.events, 1)) },
    { head: 'Level', cell: ({ level }) => <LevelLabel level={level} /> },
    {
      head: 'Statement',
      class: 'wide',
      cell: ({ statement, dataset }) => (
        <>
          <Text text={statement} />
          <div class="quiet">
            <Text text={dataset} />
          </div>
        </>
      ),
    },
    {
      head: 'What to do',
      class: 'wide advice',
      cell: statement => <Advice statement={statement} monthlyBytes={monthlyBytes} />,
    },
  ]
}

interface AdviceProps extends Pick<StatementsProps, 'monthlyBytes'> {
  statement: Statement
}

function Advice({ statement: one, monthlyBytes }: AdviceProps) {
  const [heaviest] = one.heaviest
  const isWorthSampling = one.share >= largeShare && one.events > manyEvents && sampled.includes(one.level)
  return (
    <>
      {isWorthSampling && (
        <div>
          sample 1 in 10: saves {percent(one.share * leftOut)} of these bytes
          {monthlyBytes > 0 && `, ${bytes(monthlyBytes * one.share * leftOut)} a month`}
        </div>
      )}
      {heaviest !== undefined && heaviest.share >= heavyField && (
        <div>
          {percent(heaviest.share)} of it is the field{' '}
          <code>
            <Text text={heaviest.path} />
          </code>
        </div>
      )}
      <Go place={{ screen: 'events', id: '', q: one.q, sel: 0 }}>Show events</Go>
    </>
  )
}
