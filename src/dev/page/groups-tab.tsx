/** The matches grouped by the statement that logged them: which error is new, and which is loud. */
import { type Group, levels } from '../protocol.ts'
import { api } from './api.ts'
import { clockTime, count, plural, shortCount } from './format.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Go, LevelLabel, Plain, Text } from './parts.tsx'

const maxGroups = 200
const refreshMs = 3000

export function GroupsScreen({ state }: Props) {
  const { q, since, mark, from, to } = state.place
  const { answer, error } = useAnswer(
    signal => api.groups({ q, since, mark, from, to, limit: maxGroups }, signal),
    [q, since, mark, from, to],
    refreshMs,
  )
  const groups = answer === undefined ? [] : [...answer.groups].sort(byNews)
  return (
    <main class="screen" id="main">
      <header class="screen-head">
        <h1>Groups</h1>
        <p>
          {answer === undefined
            ? (error ?? 'Loading …')
            : `${plural(answer.total, 'group')}, ${clockTime(answer.from)} – ${clockTime(answer.to)}. New ones first${
                mark === 0 ? ': first seen within 5 minutes.' : ': first seen after the mark.'
              }${answer.total > groups.length ? ` The ${count(groups.length)} largest are shown.` : ''}`}
        </p>
      </header>
      {answer !== undefined && groups.length === 0 && <Plain title="No event matches." />}
      {groups.length > 0 && (
        <div class="table-scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Level</th>
                <th scope="col">Dataset</th>
                <th scope="col">Statement</th>
                <th scope="col" class="number">
                  Events
                </th>
                <th scope="col">Over time</th>
                <th scope="col">First seen</th>
                <th scope="col">Last seen</th>
                <th scope="col">Examples</th>
              </tr>
            </thead>
            <tbody>
              {groups.map(group => (
                <GroupRow key={`${group.dataset} ${group.level} ${group.statement}`} group={group} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </main>
  )
}

/** New groups first, then the higher level, then the larger group. */
function byNews(one: Group, other: Group): number {
  const rank = ({ level }: Group) => (level === null ? -1 : levels.indexOf(level))
  return Number(other.isNew) - Number(one.isNew) || rank(other) - rank(one) || other.count - one.count
}

function GroupRow({ group }: { group: Group }) {
  const { actions } = usePage()
  const { level, dataset, statement, message, errorType, topFrame, isNew } = group
  return (
    <tr class={level ?? ''}>
      <td>
        <LevelLabel level={level} />
      </td>
      <td>
        <Text text={dataset} />
      </td>
      <td class="wide">
        {isNew && <span class="badge new">new</span>}
        <Text text={message === '' ? statement : message} />
        {(errorType !== null || topFrame !== null) && (
          <div class="quiet">
            <Text text={[errorType, topFrame].filter(text => text !== null).join(' ')} />
          </div>
        )}
      </td>
      <td class="number">{shortCount(group.count)}</td>
      <td>
        <Spark counts={group.spark} />
      </td>
      <td>{clockTime(group.first)}</td>
      <td>{clockTime(group.last)}</td>
      <td>
        <div class="row-actions">
          <Go place={{ screen: 'event', id: group.firstId }}>first</Go>
          <Go place={{ screen: 'event', id: group.lastId }}>last</Go>
          <button
            type="button"
            class="link"
            title="Exclude this message"
            onClick={() => void actions.exclude('message', JSON.stringify(message))}
          >
            exclude
          </button>
        </div>
      </td>
    </tr>
  )
}

const sparkWidth = 90
const sparkHeight = 18

function Spark({ counts }: { counts: readonly number[] }) {
  const highest = Math.max(1, ...counts)
  const step = sparkWidth / Math.max(counts.length, 1)
  return (
    <svg
      class="spark"
      width={sparkWidth}
      height={sparkHeight}
      role="img"
      aria-label={`at most ${count(highest)} in a part`}
    >
      {counts.map((value, at) => {
        const height = value === 0 ? 0 : Math.max((value / highest) * sparkHeight, 1.5)
        return <rect key={at} x={at * step} y={sparkHeight - height} width={Math.max(step - 1, 1)} height={height} />
      })}
    </svg>
  )
}
