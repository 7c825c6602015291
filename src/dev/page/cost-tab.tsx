/** Bytes by log statement: what costs most, and what a change would save. */
import type { CostAnswer } from '../protocol.ts'
import { api } from './api.ts'
import { bytes, count, duration, percent, shortCount } from './format.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Bar, Go, LevelLabel, Plain, Text } from './parts.tsx'

const maxStatements = 100
const refreshMs = 3000
/** A statement of such a share is worth sampling. */
const largeShare = 0.1
/** A field that makes up so much of a statement is worth a look. */
const heavyField = 0.5

export function CostScreen({ state }: Props) {
  const { control } = usePage()
  const { q } = state.place
  const { settings } = state
  const { answer, error } = useAnswer(signal => api.cost({ q, limit: maxStatements }, signal), [q], refreshMs)
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
        <Plain title={answer.events === 0 ? 'No event has arrived yet.' : 'No event matches.'} />
      ) : (
        <Statements answer={answer} />
      )}
    </main>
  )
}

function share(times: number): string {
  if (times >= 10) return `${count(Math.round(times))} ×`
  return times >= 1 ? `${times.toFixed(1)} ×` : `${percent(times)} of`
}

function Statements({ answer }: { answer: CostAnswer }) {
  return (
    <>
      <p class="quiet">
        {count(answer.events)} events, {bytes(answer.bytes)}, over {duration(Math.max(answer.to - answer.from, 0))}
      </p>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Share</th>
              <th scope="col" class="number">
                Bytes
              </th>
              <th scope="col" class="number">
                Events
              </th>
              <th scope="col" class="number">
                Each
              </th>
              <th scope="col">Level</th>
              <th scope="col">Statement</th>
              <th scope="col">What to do</th>
            </tr>
          </thead>
          <tbody>
            {answer.statements.map(statement => (
              <Line key={`${statement.dataset} ${statement.level} ${statement.statement}`} statement={statement} />
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function Line({ statement: one }: { statement: CostAnswer['statements'][number] }) {
  const [heaviest] = one.heaviest
  return (
    <tr>
      <td class="share">
        <span class="number">{percent(one.share)}</span>
        <Bar share={one.share} />
      </td>
      <td class="number">{bytes(one.bytes)}</td>
      <td class="number">{shortCount(one.events)}</td>
      <td class="number">{bytes(one.bytes / Math.max(one.events, 1))}</td>
      <td>
        <LevelLabel level={one.level} />
      </td>
      <td class="wide">
        <Text text={one.statement} />
        <div class="quiet">
          <Text text={one.dataset} />
        </div>
      </td>
      <td class="wide">
        {one.share >= largeShare && one.events > 10 && (
          <div>
            sample 1 in 10: {percent(one.share)} → {percent(one.share / 10 / (1 - one.share * 0.9))}
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
      </td>
    </tr>
  )
}
