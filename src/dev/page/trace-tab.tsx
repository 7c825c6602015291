/** All events of one trace, oldest first, with the time between them. */
import { useEffect, useRef } from 'preact/hooks'
import type { TraceAnswer } from '../protocol.ts'
import { api } from './api.ts'
import { clockTime, count, duration, percent, plural } from './format.ts'
import { escapeUnseen } from './json-nodes.ts'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Bar, Go, LevelLabel, Plain, Text } from './parts.tsx'

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
  const spans = [...new Set(events.map(({ spanId }) => spanId))].filter(span => span !== null)
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
        <Go
          class="button"
          place={{ screen: 'events', id: '', q: `trace_id:${JSON.stringify(traceId)}`, from: null, to: null, sel: 0 }}
        >
          Show in Events
        </Go>
        <button type="button" onClick={() => void copy()}>
          Copy as NDJSON
        </button>
      </header>
      {events.length === 0 ? (
        <Plain title="No event of this trace is kept." />
      ) : (
        <div class="table-scroll">
          <table class="trace">
            <thead>
              <tr>
                <th scope="col">Offset</th>
                <th scope="col">Gap</th>
                <th scope="col">Source</th>
                <th scope="col">Span</th>
                <th scope="col">Level</th>
                <th scope="col">Message</th>
              </tr>
            </thead>
            <tbody>
              {events.map(event => {
                const span = spans.indexOf(event.spanId ?? '')
                const isLongest = event.gapMs === longest && longest > 0
                return (
                  <tr key={event.id} class={event.level ?? ''} ref={isLongest ? longestRow : null}>
                    <td class="number" title={clockTime(event.at)}>
                      +{(event.offsetMs / 1000).toFixed(3)}
                    </td>
                    <td class={`gap${isLongest ? ' longest' : ''}`}>
                      {event.gapMs > 0 && (
                        <>
                          <Bar share={longest === 0 ? 0 : event.gapMs / longest} />
                          {longest > 0 && event.gapMs / longest >= 0.02 && duration(event.gapMs)}
                          <span class="off-screen">{percent(event.gapMs / Math.max(durationMs, 1))} of the trace</span>
                        </>
                      )}
                    </td>
                    <td>
                      <Text text={event.source ?? event.dataset} />
                    </td>
                    <td>
                      {event.spanId !== null && (
                        <span class={`span-label source-${span % spanColors}`}>
                          <b>{letterOf(span)}</b> <Text text={event.spanId.slice(0, 4)} />
                        </span>
                      )}
                    </td>
                    <td>
                      <LevelLabel level={event.level} />
                    </td>
                    <td class="wide">
                      <Go place={{ screen: 'event', id: event.id }}>
                        <Text text={event.message === '' ? '(no message)' : event.message.slice(0, 300)} />
                      </Go>
                    </td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

/** a to z, then a1 and so on. */
function letterOf(at: number): string {
  return String.fromCharCode(97 + (at % 26)) + (at >= 26 ? String(Math.floor(at / 26)) : '')
}
