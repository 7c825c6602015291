/** What acts on the list as a whole: counts, pause, clear, export, order, columns. */
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { Facets } from './facets.tsx'
import { count, percent } from './format.ts'
import { isPaused } from './list-mode.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Dropdown, Go, Text } from './parts.tsx'

export function Toolbar({ state }: Props) {
  const { control, actions } = usePage()
  const { place, mode } = state
  const isStill = isPaused(mode)
  const isOfEvents = place.screen === 'events' || place.screen === 'groups'
  if (!isOfEvents) {
    return (
      <div class="toolbar count-only">
        <MatchCount state={state} />
      </div>
    )
  }
  return (
    <div class="toolbar" data-region="actions">
      <MatchCount state={state} />
      <span class="narrow-only">
        <Dropdown label="Filters" align="left">
          <Facets state={state} />
        </Dropdown>
      </span>
      <div class="segments" role="group" aria-label="Show as">
        <Go place={{ screen: 'events', id: '' }} current={place.screen === 'events'}>
          List
        </Go>
        <Go place={{ screen: 'groups', id: '' }} current={place.screen === 'groups'}>
          Groups
        </Go>
      </div>
      <button type="button" aria-pressed={isStill} onClick={() => control.togglePause()} title="space">
        {isStill ? 'Resume' : 'Pause'} <kbd>␣</kbd>
      </button>
      <button type="button" onClick={() => actions.clearView()} title="Hide what has arrived so far">
        Clear <kbd>c</kbd>
      </button>
      <a class="button" href={actions.exportAddress()} download="logferry-events.ndjson" title="All matches as NDJSON">
        Export
      </a>
      <Dropdown label="View">
        <ViewSettings state={state} />
      </Dropdown>
    </div>
  )
}

function MatchCount({ state }: Props) {
  const { matchedEvents, complete, read, kept, place } = state
  const isFiltered = place.q.trim() !== '' || place.from !== null || place.to !== null || place.since !== 0
  if (!state.isReady) return <span class="match-count" />
  return (
    <span class="match-count">
      {isFiltered ? (
        <>
          <b>
            {count(matchedEvents)}
            {!complete && '+'}
          </b>{' '}
          of {count(kept)} match{!complete && ` · ${percent(read)} read`}
        </>
      ) : (
        <>
          <b>{count(kept)}</b> {kept === 1 ? 'event' : 'events'}
        </>
      )}
    </span>
  )
}

function ViewSettings({ state }: Props) {
  const { control, actions } = usePage()
  const { place } = state
  return (
    <>
      <fieldset class="choices">
        <legend>Order</legend>
        <label>
          <input
            type="radio"
            name="sort"
            checked={place.sort === 'time'}
            onChange={() => control.visit({ sort: 'time' })}
          />
          by time of the event
        </label>
        <label>
          <input
            type="radio"
            name="sort"
            checked={place.sort === 'arrival'}
            onChange={() => control.visit({ sort: 'arrival' })}
          />
          by arrival
        </label>
      </fieldset>
      <fieldset class="choices">
        <legend>Rows</legend>
        <label>
          <input type="checkbox" checked={place.group} onChange={() => control.visit({ group: !place.group })} />
          join repeats <kbd>r</kbd>
        </label>
        <label>
          <input
            type="checkbox"
            checked={place.lines === 3}
            onChange={() => control.visit({ lines: place.lines === 3 ? 1 : 3 })}
          />
          three lines for each message
        </label>
      </fieldset>
      <ColumnChoice state={state} />
      <button type="button" class="danger" onClick={() => control.store.set({ dialog: 'delete' })}>
        Delete all events on the service …
      </button>
      <button type="button" onClick={() => void actions.copyLink()}>
        Copy a link to this view
      </button>
    </>
  )
}

function ColumnChoice({ state }: Props) {
  const { actions } = usePage()
  const [prefix, setPrefix] = useState('')
  const { answer } = useAnswer(signal => api.suggest({ q: prefix, at: prefix.length }, signal), [prefix])
  const fields = (answer?.suggestions ?? []).filter(({ kind }) => kind === 'field').map(({ label }) => label)
  const chosen = state.place.columns
  const shown = [...chosen, ...fields.filter(field => !chosen.includes(field)).slice(0, 10)]
  return (
    <fieldset class="choices">
      <legend>Columns</legend>
      <input
        type="text"
        aria-label="Find a field"
        placeholder="find a field"
        value={prefix}
        autocomplete="off"
        spellcheck={false}
        onInput={event => setPrefix(event.currentTarget.value.trim())}
        onKeyDown={event => {
          if (event.key !== 'Enter' || prefix === '') return
          event.preventDefault()
          actions.toggleColumn(prefix)
          setPrefix('')
        }}
      />
      {shown.map(field => (
        <label key={field}>
          <input type="checkbox" checked={chosen.includes(field)} onChange={() => actions.toggleColumn(field)} />
          <Text text={field} />
        </label>
      ))}
    </fieldset>
  )
}
