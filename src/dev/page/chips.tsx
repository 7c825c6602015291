/** The clauses of the query as chips: each can be switched off and on, or removed. They only edit the text. */
import { count, timeOf } from './format.ts'
import { type Props, usePage } from './page-context.ts'
import { Text } from './parts.tsx'

export function Chips({ state }: Props) {
  const { actions, control } = usePage()
  const { place, reading } = state
  const { off, from, to, since, mark } = place
  const hasTime = from !== null || to !== null
  if (reading.clauses.length === 0 && off.length === 0 && !hasTime && since === 0 && mark === 0) return null
  return (
    <ul class="chips" aria-label="Filters">
      {reading.clauses.map(({ text, label, start, end }) => (
        <li key={`${start} ${text}`} class="chip">
          <button
            type="button"
            aria-pressed="true"
            title="Switch off"
            onClick={() => void actions.switchOff(text, start, end)}
          >
            <Text text={label} />
          </button>
          <button
            type="button"
            class="remove"
            title="Remove"
            aria-label={`Remove ${label}`}
            onClick={() => void actions.removeClause(start, end)}
          >
            ✕
          </button>
        </li>
      ))}
      {off.map(text => (
        <li key={`off ${text}`} class="chip off">
          <button type="button" aria-pressed="false" title="Switch on" onClick={() => void actions.switchOn(text)}>
            <Text text={text} />
          </button>
          <button
            type="button"
            class="remove"
            title="Remove"
            aria-label={`Remove ${text}`}
            onClick={() => actions.forgetClause(text)}
          >
            ✕
          </button>
        </li>
      ))}
      {hasTime && (
        <Fixed
          label={`${from === null ? '…' : timeOf(from)} – ${to === null ? 'now' : timeOf(to)}`}
          title="Show all times"
          onRemove={() => actions.setTime(null, null)}
        />
      )}
      {since !== 0 && (
        <Fixed
          label={`cleared up to event ${count(since)}`}
          title="Show the cleared events"
          onRemove={() => control.visit({ since: 0 })}
        />
      )}
      {mark !== 0 && (
        <Fixed
          label={`marked at event ${count(mark)}`}
          title="Remove the mark"
          onRemove={() => control.visit({ mark: 0 })}
        />
      )}
    </ul>
  )
}

function Fixed({ label, title, onRemove }: { label: string; title: string; onRemove: () => void }) {
  return (
    <li class="chip fixed">
      <span>{label}</span>
      <button type="button" class="remove" title={title} aria-label={title} onClick={onRemove}>
        ✕
      </button>
    </li>
  )
}
