/** The fields of a dataset: how many, of which types, and which names should have been values. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { FieldRow } from '../protocol.ts'
import { api } from './api.ts'
import { cellText } from './columns.ts'
import { count, percent, shortCount } from './format.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Bar, Go, Plain, Text } from './parts.tsx'
import { Table, type TableColumn } from './table.tsx'

const maxFields = 500
const refreshMs = 3000

export function FieldsScreen({ state }: Props) {
  const { id } = state.place
  const [prefix, setPrefix] = useState('')
  const { answer, error } = useAnswer(
    signal => api.fields({ dataset: id, prefix, limit: maxFields }, signal),
    [id, prefix],
    refreshMs,
  )
  if (answer === undefined) return <Screen>{<Plain title={error ?? 'Loading …'} />}</Screen>
  const { dataset, datasets, fields, total, maxFields: max, events } = answer
  return (
    <Screen>
      <header class="screen-head">
        <h1>Fields</h1>
        {datasets.length > 0 && (
          <div class="segments" role="group" aria-label="Dataset">
            <Go place={{ screen: 'fields', id: '' }} current={dataset === ''}>
              all
            </Go>
            {datasets.map(name => (
              <Go key={name} place={{ screen: 'fields', id: name }} current={name === dataset}>
                <Text text={name} />
              </Go>
            ))}
          </div>
        )}
        <input
          type="text"
          aria-label="Only fields that begin with"
          placeholder="only fields that begin with …"
          value={prefix}
          spellcheck={false}
          autocomplete="off"
          onInput={event => setPrefix(event.currentTarget.value)}
        />
      </header>
      {events === 0 ? (
        <Plain title="No event has arrived yet." />
      ) : (
        <>
          <p class="meter">
            {max === null ? (
              <>
                {count(total)} fields in {count(events)} events
              </>
            ) : (
              <>
                <b>
                  {count(total)} of {count(max)} fields
                </b>
                <Bar share={total / max} class={total / max > 0.9 ? 'near' : ''} />
                {total > max ? `${count(total - max)} too many` : `${count(max - total)} left`}
              </>
            )}
          </p>
          <Table columns={columns} rows={fields} keyOf={({ path }) => path} />
        </>
      )}
    </Screen>
  )
}

function Screen({ children }: { children: ComponentChildren }) {
  return (
    <main class="screen" id="main">
      {children}
    </main>
  )
}

const columns: readonly TableColumn<FieldRow>[] = [
  {
    head: 'Field',
    class: 'name',
    cell: ({ path }) => (
      <code>
        <Text text={path} />
      </code>
    ),
  },
  {
    head: 'Types',
    cell: ({ types }) => types.map(([type, part]) => (types.length > 1 ? `${type} ${percent(part)}` : type)).join(', '),
  },
  { head: 'In', isNumber: true, cell: ({ share }) => percent(share) },
  {
    head: 'Distinct',
    isNumber: true,
    minPageWidth: 561,
    cell: ({ distinct, approximate }) => `${approximate ? '≈ ' : ''}${distinct === 0 ? '–' : shortCount(distinct)}`,
  },
  {
    head: 'Example',
    minPageWidth: 561,
    class: 'example',
    cell: ({ distinct, example }) => <Text text={distinct === 0 ? '–' : cellText(example)} />,
  },
  { head: 'Note', class: 'wide', cell: field => <Note field={field} /> },
]

function Note({ field }: { field: FieldRow }) {
  const { control } = usePage()
  const { path, types, distinct, top, warnings } = field
  const addFacet = () => {
    const { settings } = control.store.state
    if (!settings.facets.includes(path)) {
      control.saveSettings({ ...settings, facets: [...settings.facets, path].slice(-8) })
    }
    control.visit({ screen: 'events', id: '' })
  }
  const shares =
    top.length > 0 && distinct <= 50
      ? `top: ${top
          .slice(0, 3)
          .map(one => `${cellText(one.value).slice(0, 40)} ${percent(one.share)}`)
          .join(', ')}`
      : ''
  const isValue = types.some(([type]) => type !== 'object')
  return (
    <>
      {warnings.map(({ code, text }) => (
        <div key={code} class="doubtful">
          ▲ <Text text={text} />
        </div>
      ))}
      {isValue && (
        <button type="button" class="link" onClick={addFacet}>
          facet
        </button>
      )}{' '}
      <span class="quiet">
        <Text text={shares} />
      </span>
    </>
  )
}
