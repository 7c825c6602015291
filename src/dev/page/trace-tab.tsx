/** All events of one trace, oldest first, with the time between them. */
import { useEffect, useRef } from 'preact/hooks'
import type { TraceAnswer } from '../protocol.ts'
import { api } from './api.ts'
import { clockTime, count, duration, percent, plural } from './format.ts'
import { escapeUnseen } from './json-nodes.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Bar, Go, LevelLabel, Plain, Text } from './parts.tsx'
import { allEvents } from './place.ts'
import { Table, type TableColumn } from './table.tsx'

const maxEvents = 500
const refreshMs = 3000
const spanColors = 8

export function TraceScreen({ state }: Props) {
  const { id } = state.place
  const { answer, error } = useAnswer(signal => api.trace({ id, limit: maxEvents }, signal), [id], refreshMs)
  return (
    <main class="screen" id="main">
      {answer === undefined && <Plain title={error ?? 'Loading …'} />}
      {answer !== undefined && <Trace trace={answer} />}
    </main>
  )
}

function Trace({ trace }: { trace: TraceAnswer }) {
  const { actions } = usePage()
  const { traceId, events, count: all, sources, errors, durationMs } = trace
  const longest = Math.max(0, ...events.map(({ gapMs }) => gapMs))
  const longestRow = useRef<HTMLTableRowElement>(null)
  const hasEvents = events.length > 0
  useEffect(() => {
    if (hasEvents) longestRow.current?.scrollIntoView({ block: 'center' })
  }, [hasEvents])
  const copy = () => actions.copy(events.map(({ line }) => `${escapeUnseen(line)}\n`).join(''), 'Events copied.')
  return (
    <>
      <header class="screen-head">
        <h1>
          Trace{' '}
          <code>
            <Text text={traceId} />
          </code>
        </h1>
        <p>
          {plural(all, 'event')}, {plural(sources.length, 'source')}, {duration(durationMs)}
          {errors > 0 && (
            <>
              , <b class="bad">{plural(errors, 'error')}</b>
            </>
          )}
          {all > events.length && ` · the first ${count(events.length)} are shown`}
        </p>
        <Go class="button" place={{ ...allEvents, q: `trace_id:${JSON.stringify(traceId)}` }}>
          Show in Events
        </Go>
        <button type="button" onClick={() => void copy()}>
          Copy as NDJSON
        </button>
      </header>
      {events.length === 0 ? (
        <Plain title="No event of this trace is kept." />
      ) : (
        <Table
          columns={columnsOf(trace, longest)}
          rows={events}
          keyOf={({ id }) => id}
          class="trace"
          rowClass={({ level }) => level ?? ''}
          rowRef={event => (isLongest(event, longest) ? longestRow : null)}
        />
      )}
    </>
  )
}

type TraceEvent = TraceAnswer['events'][number]

function isLongest({ gapMs }: TraceEvent, longestMs: number): boolean {
  return gapMs === longestMs && longestMs > 0
}

function columnsOf({ events, durationMs }: TraceAnswer, longestMs: number): readonly TableColumn<TraceEvent>[] {
  const spans = [...new Set(events.map(({ spanId }) => spanId))].filter(span => span !== null)
  return [
    {
      head: 'Offset',
      class: 'number',
      title: ({ at }) => clockTime(at),
      cell: ({ offsetMs }) => `+${(offsetMs / 1000).toFixed(3)}`,
    },
    {
      head: 'Gap',
      class: event => `gap${isLongest(event, longestMs) ? ' longest' : ''}`,
      cell: ({ gapMs }) =>
        gapMs > 0 && (
          <>
            <Bar share={longestMs === 0 ? 0 : gapMs / longestMs} />
            {longestMs > 0 && gapMs / longestMs >= 0.02 && duration(gapMs)}
            <span class="off-screen">{percent(gapMs / Math.max(durationMs, 1))} of the trace</span>
          </>
        ),
    },
    { head: 'Source', class: 'origin', cell: ({ source, dataset }) => <Text text={source ?? dataset} /> },
    { head: 'Span', cell: ({ spanId }) => spanId !== null && <SpanLabel id={spanId} at={spans.indexOf(spanId)} /> },
    { head: 'Level', cell: ({ level }) => <LevelLabel level={level} /> },
    {
      head: 'Message',
      class: 'wide',
      cell: ({ id, message }) => (
        <Go place={{ screen: 'event', id }}>
          <Text text={message === '' ? '(no message)' : message.slice(0, 300)} />
        </Go>
      ),
    },
  ]
}

function SpanLabel({ id, at }: { id: string; at: number }) {
  return (
    <span class={`span-label source-${at % spanColors}`}>
      <b>{letterOf(at)}</b> <Text text={id.slice(0, 4)} />
    </span>
  )
}

/** a to z, then a1 and so on. */
function letterOf(at: number): string {
  return String.fromCharCode(97 + (at % 26)) + (at >= 26 ? String(Math.floor(at / 26)) : '')
}
