/** The requests that arrived: what was in them, what the service answered, and which repeats which. */
import { useState } from 'preact/hooks'
import type { RequestRow } from '../protocol.ts'
import { api } from './api.ts'
import { bytes, count, duration, plural, timeOf } from './format.ts'
import { LongText } from './json-tree.tsx'
import { type Props, useAnswer } from './page-context.ts'
import { Go, Plain, Text } from './parts.tsx'
import { allEvents } from './place.ts'
import { Table, type TableColumn } from './table.tsx'

const pageSize = 100
const refreshMs = 1500

export function RequestsScreen({ state }: Props) {
  const [status, setStatus] = useState('')
  const [dataset, setDataset] = useState('')
  const [retries, setRetries] = useState(false)
  const [before, setBefore] = useState<number | undefined>()
  const { answer, error } = useAnswer(
    signal => api.requests({ status, dataset, retries: retries || undefined, before, limit: pageSize }, signal),
    [status, dataset, retries, before],
    before === undefined ? refreshMs : undefined,
  )
  /** Changes a filter. The requests that it lets through are shown from the newest. */
  const filter = (set: () => void) => {
    set()
    setBefore(undefined)
  }
  const open = /^\d+$/.test(state.place.id) ? Number(state.place.id) : undefined
  const ratio = answer === undefined || answer.wireBytes === 0 ? 1 : answer.bodyBytes / answer.wireBytes
  const rows = answer?.requests ?? []
  // The chosen dataset stays in the list when its requests are forgotten.
  const datasets = [...new Set([...(answer?.datasets ?? []), ...(dataset === '' ? [] : [dataset])])]
  const times = rows.flatMap(({ at, tookMs }) => [at, at + (tookMs ?? 0)])
  const span = { from: Math.min(...times), to: Math.max(...times) }
  return (
    <main class="screen" id="main">
      <header class="screen-head">
        <h1>Requests</h1>
        {answer !== undefined && (
          <p>
            {plural(answer.total, 'request')} · {count(answer.refused)} refused · {bytes(answer.bodyBytes)} sent,{' '}
            {bytes(answer.wireBytes)} on the wire
            {ratio > 1.05 && ` (${ratio.toFixed(1)}× smaller)`}
          </p>
        )}
        <label>
          Status{' '}
          <select value={status} onChange={({ currentTarget: { value } }) => filter(() => setStatus(value))}>
            <option value="">all</option>
            <option value="2xx">2xx</option>
            <option value="4xx">4xx</option>
            <option value="5xx">5xx</option>
            <option value="none">no answer</option>
          </select>
        </label>
        <label>
          Dataset{' '}
          <select value={dataset} onChange={({ currentTarget: { value } }) => filter(() => setDataset(value))}>
            <option value="">all</option>
            {datasets.map(name => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" checked={retries} onChange={() => filter(() => setRetries(!retries))} /> retries only
        </label>
      </header>
      {open !== undefined && <OpenRequest key={open} n={open} />}
      {answer === undefined ? (
        <Plain title={error ?? 'Loading …'} />
      ) : rows.length === 0 ? (
        <Plain title={answer.total === 0 ? 'No request has arrived yet.' : 'No request matches.'} />
      ) : (
        <Table
          columns={columnsOf(open, span)}
          rows={rows}
          keyOf={({ n }) => n}
          class="requests"
          rowClass={({ n }) => (n === open ? 'open' : '')}
        >
          <p class="pager">
            {before !== undefined && (
              <button type="button" onClick={() => setBefore(undefined)}>
                Newest
              </button>
            )}
            {answer.next !== null && (
              <button type="button" onClick={() => setBefore(answer.next ?? undefined)}>
                Older
              </button>
            )}
          </p>
        </Table>
      )}
    </main>
  )
}

function Status({ status }: { status: number | null }) {
  const kind = status === null ? 'none' : status < 300 ? 'good' : status < 500 ? 'refused' : 'broken'
  return <span class={`status ${kind}`}>{status ?? 'none'}</span>
}

interface Span {
  from: number
  to: number
}

function columnsOf(open: number | undefined, span: Span): readonly TableColumn<RequestRow>[] {
  return [
    {
      head: 'Time',
      cell: ({ n, at }) => (
        <Go place={{ screen: 'requests', id: n === open ? '' : String(n) }} label={`Request ${n}, ${timeOf(at)}`}>
          {timeOf(at)}
        </Go>
      ),
    },
    { head: 'Status', cell: ({ status }) => <Status status={status} /> },
    {
      head: 'Dataset',
      class: 'origin',
      cell: ({ dataset, kind, path }) =>
        dataset === null ? (
          <span class="quiet">
            <Text text={kind === 'other' ? path : kind} />
          </span>
        ) : (
          <Text text={dataset} />
        ),
    },
    { head: 'Events', isNumber: true, cell: ({ events }) => count(events) },
    { head: 'Wire', isNumber: true, cell: ({ wireBytes }) => bytes(wireBytes) },
    { head: 'Body', isNumber: true, cell: ({ bodyBytes }) => bytes(bodyBytes) },
    { head: 'Encoding', minPageWidth: 1000, cell: ({ encoding }) => <Text text={encoding} /> },
    { head: 'Took', isNumber: true, cell: ({ tookMs }) => (tookMs === null ? '–' : duration(tookMs)) },
    { head: 'Waterfall', minPageWidth: 1000, cell: row => <Waterfall row={row} span={span} /> },
    { head: 'Note', class: 'wide', cell: row => <Note row={row} /> },
  ]
}

function Waterfall({ row: { at, tookMs, status }, span }: { row: RequestRow; span: Span }) {
  const width = Math.max(span.to - span.from, 1)
  const left = `${((at - span.from) / width) * 100}%`
  const length = `${((tookMs ?? 0) / width) * 100}%`
  return (
    <span class="waterfall" aria-hidden="true">
      <span class={status === null || status >= 400 ? 'refused' : ''} style={{ left, width: length }} />
    </span>
  )
}

function Note({ row }: { row: RequestRow }) {
  const { reason, retryOf, duplicate, fault } = row
  return (
    <>
      {retryOf !== undefined && (
        <>
          ↺ retry of <Go place={{ screen: 'requests', id: String(retryOf.n) }}>#{retryOf.n}</Go>, waited{' '}
          {duration(retryOf.waitedMs)}
          {reason !== '' && ' · '}
        </>
      )}
      {reason !== '' && <Text text={reason} />} {duplicate && <span class="badge">duplicate: stored twice</span>}{' '}
      {fault && <span class="badge">fault</span>}
    </>
  )
}

function OpenRequest({ n }: { n: number }) {
  const { answer, error } = useAnswer(signal => api.request(n, signal), [n])
  if (answer === undefined) return <Plain title={error ?? 'Loading …'} />
  const { method, path, headers, bodyStart, source, reason, status, at } = answer
  return (
    <section class="open-request" aria-label={`Request ${n}`}>
      <header>
        <h2>
          #{n} <Status status={status} /> <Text text={`${method} ${path}`} />
        </h2>
        <Go class="button" place={{ screen: 'requests', id: '' }}>
          Close
        </Go>
        <Go class="button" place={{ ...allEvents, q: `request:${n}` }}>
          Its events
        </Go>
      </header>
      <p>
        {timeOf(at)}
        {source !== null && (
          <>
            {' '}
            · source <Text text={source} />
          </>
        )}
        {reason !== '' && (
          <>
            {' '}
            · <Text text={reason} />
          </>
        )}
      </p>
      <table class="headers">
        <tbody>
          {headers.map(([name, value], index) => (
            <tr key={index}>
              <th scope="row">
                <Text text={name} />
              </th>
              <td>
                <Text text={value} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {bodyStart !== null && (
        <>
          <h3>Beginning of the body</h3>
          <pre>
            <LongText text={bodyStart} highlight={null} name="body" />
          </pre>
        </>
      )}
    </section>
  )
}
