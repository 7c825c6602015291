/** The values that the matches have, with counts. A box includes or excludes its value; the name shows it alone. */
import { useState } from 'preact/hooks'
import type { Level } from '../protocol.ts'
import { levels } from '../protocol.ts'
import { api } from './api.ts'
import { facetState } from './facet-state.ts'
import { shortCount } from './format.ts'
import { levelMarks, levelsFromFatal } from './levels.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Text } from './parts.tsx'

const maxValues = 12
const refreshMs = 4000

export function Facets({ state }: Props) {
  const { control } = usePage()
  const { tick, settings } = state
  const [added, setAdded] = useState('')
  const add = () => {
    const field = added.trim()
    setAdded('')
    if (field === '' || settings.facets.includes(field)) return
    control.saveSettings({ ...settings, facets: [...settings.facets, field].slice(-8) })
  }
  return (
    <aside class="facets" aria-label="Facets" data-region="facets">
      <LevelFacet state={state} />
      <ValueFacet state={state} field="dataset" values={(tick?.datasets ?? []).map(plainValue)} />
      <ValueFacet state={state} field="source" values={(tick?.sources ?? []).map(plainValue)} />
      {settings.facets.map(field => (
        <LoadedFacet key={field} state={state} field={field} />
      ))}
      <form
        class="add-facet"
        onSubmit={event => {
          event.preventDefault()
          add()
        }}
      >
        <input
          type="text"
          aria-label="Field to add as a facet"
          placeholder="+ any field"
          value={added}
          autocomplete="off"
          spellcheck={false}
          onInput={event => setAdded(event.currentTarget.value)}
        />
      </form>
    </aside>
  )
}

function LevelFacet({ state }: Props) {
  const { actions } = usePage()
  const { tick, reading } = state
  const isShown = (level: Level) => reading.levels.includes(level)
  const toggle = (level: Level) => {
    const next = levels.filter(one => (one === level ? !isShown(one) : isShown(one)))
    void actions.setLevels(next)
  }
  return (
    <fieldset>
      <legend>Level</legend>
      {levelsFromFatal.map(level => (
        <div key={level} class={`facet-value ${level}`}>
          <input type="checkbox" checked={isShown(level)} onChange={() => toggle(level)} aria-label={level} />
          <button type="button" title={`Only ${level}`} onClick={() => void actions.setLevels([level])}>
            <span class="mark" aria-hidden="true">
              {levelMarks[level]}
            </span>
            <span class="word">{level}</span>
          </button>
          <span class="facet-count">{shortCount(tick?.levels[level] ?? 0)}</span>
        </div>
      ))}
      {(tick?.levels.none ?? 0) > 0 && (
        <div class="facet-value">
          <span />
          <span class="facet-none">no level</span>
          <span class="facet-count">{shortCount(tick?.levels.none ?? 0)}</span>
        </div>
      )}
    </fieldset>
  )
}

interface FacetValue {
  /** JSON text. */
  value: string
  label: string
  count: number
}

function plainValue({ value, count }: { value: string; count: number }): FacetValue {
  return { value: JSON.stringify(value), label: value, count }
}

function LoadedFacet({ state, field }: Props & { field: string }) {
  const { control } = usePage()
  const { q, since, mark, from, to } = state.place
  const { answer, error } = useAnswer(
    signal => api.facet({ q, since, mark, from, to, field, limit: maxValues }, signal),
    [q, since, mark, from, to, field],
    refreshMs,
  )
  const remove = () => {
    const { settings } = control.store.state
    control.saveSettings({ ...settings, facets: settings.facets.filter(one => one !== field) })
  }
  const distinct = answer === undefined ? '' : `${answer.approximate ? '≈ ' : ''}${shortCount(answer.distinct)} values`
  return (
    <ValueFacet
      state={state}
      field={field}
      values={answer?.values ?? []}
      note={error ?? (answer?.values.length === 0 ? 'no values' : distinct)}
      onRemove={remove}
    />
  )
}

/** True if a query takes two values for the same. */
function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

interface ValueFacetProps extends Props {
  field: string
  values: FacetValue[]
  note?: string | undefined
  onRemove?: () => void
}

function ValueFacet({ state, field, values, note, onRemove }: ValueFacetProps) {
  const { actions } = usePage()
  if (values.length === 0 && onRemove === undefined) return null
  const { only, excluded } = facetState(state.reading.clauses, field)
  const isShown = ({ label }: FacetValue) =>
    !excluded.some(({ value }) => isSame(value, label)) &&
    (only.length === 0 || only.some(value => isSame(value, label)))
  // A value that the query excludes has no matches left to count, and must stay here to be included again.
  const missing = [...excluded.map(one => one.value), ...only].filter(
    value => !values.some(({ label }) => isSame(value, label)),
  )
  const shown: FacetValue[] = [
    ...values.slice(0, maxValues),
    ...missing.map(label => ({ value: JSON.stringify(label), label, count: 0 })),
  ]
  const toggle = (one: FacetValue) => {
    const exclusion = excluded.find(({ value }) => isSame(value, one.label))
    if (exclusion !== undefined) void actions.removeClause(exclusion.start, exclusion.end)
    else if (isShown(one)) void actions.exclude(field, one.value)
    else void actions.or(field, one.value)
  }
  return (
    <fieldset>
      <legend>
        <Text text={field} />
        {onRemove !== undefined && (
          <button
            type="button"
            class="remove"
            title="Remove this facet"
            aria-label={`Remove ${field}`}
            onClick={onRemove}
          >
            ✕
          </button>
        )}
      </legend>
      {shown.map(one => (
        <div key={one.value} class="facet-value">
          <input type="checkbox" checked={isShown(one)} aria-label={one.label} onChange={() => toggle(one)} />
          <button type="button" title={`Only ${one.label}`} onClick={() => void actions.only(field, one.value)}>
            <Text text={one.label === '' ? '(empty)' : one.label} />
          </button>
          <span class="facet-count">{shortCount(one.count)}</span>
        </div>
      ))}
      {note !== undefined && note !== '' && <p class="facet-note">{note}</p>}
    </fieldset>
  )
}
