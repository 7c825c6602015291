/** The matches grouped by the statement that logged them: which error is new, and which is loud. */
import { type Group, levels } from '../protocol.ts'
import { api } from './api.ts'
import { count, plural, shortCount, timeOf } from './format.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Go, LevelLabel, Plain, Text } from './parts.tsx'
import { Table, type TableColumn } from './table.tsx'

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
            : groups.length === 0
              ? '0 groups.'
              : `${plural(answer.total, 'group')}, ${timeOf(answer.from)} – ${timeOf(answer.to)}. New ones first${
                  mark === 0 ? ': first seen within 5 minutes.' : ': first seen after the mark.'
                }${answer.total > groups.length ? ` The ${count(groups.length)} largest are shown.` : ''}`}
        </p>
      </header>
      {answer !== undefined && groups.length === 0 && (
        <Plain title={state.kept === 0 ? 'No event has arrived yet.' : 'No event matches.'} />
      )}
      {groups.length > 0 && (
        <Table
          columns={columns}
          rows={groups}
          keyOf={({ dataset, level, statement }) => `${dataset} ${level} ${statement}`}
          rowClass={({ level }) => level ?? ''}
        />
      )}
    </main>
  )
}

/** New groups first, then the higher level, then the larger group. */
function byNews(one: Group, other: Group): number {
  const rank = ({ level }: Group) => (level === null ? -1 : levels.indexOf(level))
  return Number(other.isNew) - Number(one.isNew) || rank(other) - rank(one) || other.count - one.count
}

const columns: readonly TableColumn<Group>[] = [
  { head: 'Level', cell: ({ level }) => <LevelLabel level={level} /> },
  { head: 'Dataset', class: 'origin', cell: ({ dataset }) => <Text text={dataset} /> },
  { head: 'Statement', class: 'wide', cell: group => <Statement group={group} /> },
  { head: 'Events', isNumber: true, cell: group => shortCount(group.count) },
  { head: 'Over time', minPageWidth: 1000, cell: ({ spark }) => <Spark counts={spark} /> },
  { head: 'First seen', minPageWidth: 1000, cell: ({ first }) => timeOf(first) },
  { head: 'Last seen', cell: ({ last }) => timeOf(last) },
  { head: 'Examples', cell: group => <Examples group={group} /> },
]

function Statement({ group: { statement, message, errorType, topFrame, isNew } }: { group: Group }) {
  return (
    <>
      {isNew && <span class="badge new">new</span>}
      <Text text={message === '' ? statement : message} />
      {(errorType !== null || topFrame !== null) && (
        <div class="quiet">
          <Text text={[errorType, topFrame].filter(text => text !== null).join(' ')} />
        </div>
      )}
    </>
  )
}

function Examples({ group: { firstId, lastId, message } }: { group: Group }) {
  const { actions } = usePage()
  return (
    <div class="row-actions">
      <Go place={{ screen: 'event', id: firstId }}>first</Go>
      <Go place={{ screen: 'event', id: lastId }}>last</Go>
      <button
        type="button"
        class="link"
        title="Exclude this message"
        onClick={() => void actions.exclude('message', JSON.stringify(message))}
      >
        exclude
      </button>
    </div>
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
