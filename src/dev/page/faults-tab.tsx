/** Faults that the service makes on purpose, and what the application did meanwhile. */
import { useEffect, useState } from 'preact/hooks'
import type { FaultReport, FaultSettings, FaultsAnswer } from '../protocol.ts'
import { api } from './api.ts'
import { bytes, clockTime, count, duration, plural } from './format.ts'
import { type Page, type Props, useAnswer, usePage } from './page-context.ts'
import { Plain, Text } from './parts.tsx'

const refreshMs = 1000

type Kind = FaultSettings['kind']

const kinds: readonly (readonly [Kind, string])[] = [
  ['status', 'Answer with a status'],
  ['latency', 'Answer late'],
  ['reset', 'Reset the connection'],
  ['slow-body', 'Read the body slowly'],
  ['max-bytes', 'Refuse large bodies (413)'],
  ['refuse-encoding', 'Refuse a compression (415)'],
  ['reject', 'Reject some events in a 200'],
  ['revoke-token', 'Revoke the token'],
]

interface Inputs {
  status: number
  retryAfterS: string
  latencyMs: number
  moment: 'before-storing' | 'after-storing'
  bytesPerSecond: number
  maxBytes: number
  encoding: string
  query: string
  forS: number
}

const first: Inputs = {
  status: 503,
  retryAfterS: '',
  latencyMs: 2000,
  moment: 'after-storing',
  bytesPerSecond: 10_000,
  maxBytes: 100_000,
  encoding: 'zstd',
  query: 'level:debug',
  forS: 30,
}

function settingsOf(kind: Kind, inputs: Inputs): FaultSettings {
  const { status, retryAfterS, latencyMs, moment, bytesPerSecond, maxBytes, encoding, query, forS } = inputs
  switch (kind) {
    case 'status':
      return { kind, status, forS, ...(retryAfterS !== '' && { retryAfterS: Number(retryAfterS) }) }
    case 'latency':
      return { kind, latencyMs, forS }
    case 'reset':
      return { kind, moment, forS }
    case 'slow-body':
      return { kind, bytesPerSecond, forS }
    case 'max-bytes':
      return { kind, maxBytes, forS }
    case 'refuse-encoding':
      return { kind, encoding, forS }
    case 'reject':
      return { kind, query, forS }
    case 'revoke-token':
      return { kind, forS }
  }
}

export function FaultsScreen({ state }: Props) {
  const { control } = usePage()
  const { answer, error, reload } = useAnswer(signal => api.faults(signal), [state.faults], refreshMs)
  const change = (body: Parameters<typeof api.changeFaults>[0]) =>
    control.attempt(async () => {
      control.store.set({ faults: await api.changeFaults(body) })
      reload()
    })
  return (
    <main class="screen" id="main">
      <header class="screen-head">
        <h1>Faults</h1>
        <p>Start a fault, log as usual, and read the report. Each fault ends by itself.</p>
      </header>
      <StartForm onStart={settings => void change({ start: settings })} />
      {answer === undefined ? <Plain title={error ?? 'Loading …'} /> : <Faults answer={answer} change={change} />}
    </main>
  )
}

type Change = (body: Parameters<typeof api.changeFaults>[0]) => ReturnType<Page['control']['attempt']>

function StartForm({ onStart }: { onStart: (settings: FaultSettings) => void }) {
  const [kind, setKind] = useState<Kind>('status')
  const [inputs, setInputs] = useState(first)
  const set = (part: Partial<Inputs>) => setInputs({ ...inputs, ...part })
  return (
    <form
      class="fault-form"
      onSubmit={event => {
        event.preventDefault()
        onStart(settingsOf(kind, inputs))
      }}
    >
      <label>
        Fault
        <select value={kind} onChange={event => setKind(event.currentTarget.value as Kind)}>
          {kinds.map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {kind === 'status' && (
        <>
          <NumberInput label="Status" value={inputs.status} min={300} max={599} onValue={status => set({ status })} />
          <label>
            Retry-After, s
            <input
              type="number"
              min={0}
              max={3600}
              placeholder="none"
              value={inputs.retryAfterS}
              onInput={event => set({ retryAfterS: event.currentTarget.value })}
            />
          </label>
        </>
      )}
      {kind === 'latency' && (
        <NumberInput
          label="Latency, ms"
          value={inputs.latencyMs}
          min={1}
          max={600_000}
          onValue={latencyMs => set({ latencyMs })}
        />
      )}
      {kind === 'reset' && (
        <label>
          Moment
          <select
            value={inputs.moment}
            onChange={event => set({ moment: event.currentTarget.value as Inputs['moment'] })}
          >
            <option value="before-storing">before storing</option>
            <option value="after-storing">after storing</option>
          </select>
        </label>
      )}
      {kind === 'slow-body' && (
        <NumberInput
          label="Bytes per second"
          value={inputs.bytesPerSecond}
          min={1}
          max={1_000_000_000}
          onValue={bytesPerSecond => set({ bytesPerSecond })}
        />
      )}
      {kind === 'max-bytes' && (
        <NumberInput
          label="Maximum, bytes"
          value={inputs.maxBytes}
          min={1}
          max={1_000_000_000}
          onValue={maxBytes => set({ maxBytes })}
        />
      )}
      {kind === 'refuse-encoding' && (
        <label>
          Compression
          <select value={inputs.encoding} onChange={event => set({ encoding: event.currentTarget.value })}>
            <option>zstd</option>
            <option>gzip</option>
          </select>
        </label>
      )}
      {kind === 'reject' && (
        <label>
          Events that match
          <input
            type="text"
            class="wide-input"
            value={inputs.query}
            spellcheck={false}
            onInput={event => set({ query: event.currentTarget.value })}
          />
        </label>
      )}
      <NumberInput label="For, s" value={inputs.forS} min={1} max={600} onValue={forS => set({ forS })} />
      <button type="submit" class="primary">
        Start
      </button>
    </form>
  )
}

interface NumberInputProps {
  label: string
  value: number
  min: number
  max: number
  onValue: (value: number) => void
}

function NumberInput({ label, value, min, max, onValue }: NumberInputProps) {
  return (
    <label>
      {label}
      <input
        type="number"
        required
        min={min}
        max={max}
        value={value}
        onInput={event =>
          Number.isFinite(event.currentTarget.valueAsNumber) && onValue(event.currentTarget.valueAsNumber)
        }
      />
    </label>
  )
}

function Faults({ answer, change }: { answer: FaultsAnswer; change: Change }) {
  const { actions } = usePage()
  const { running, ended, limits } = answer
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <section aria-label="Running faults">
        <h2>Running</h2>
        {running.length === 0 && <p class="quiet">No fault is running.</p>}
        {running.map(({ id, fault, argument, endsAt, report }) => (
          <article key={id} class="fault running">
            <header>
              <b>▶ {titleOf(fault)}</b> for {duration(Math.max(endsAt - now, 0))} more
              <button type="button" onClick={() => void change({ stop: id })}>
                Stop
              </button>
              <button
                type="button"
                onClick={() => void actions.copy(`--fault ${shellWord(argument)}`, 'Argument copied.')}
              >
                Copy as --fault
              </button>
            </header>
            <Report report={report} />
          </article>
        ))}
      </section>
      <section aria-label="Limits of the license">
        <h2>Limits</h2>
        <p class="choices-row">
          {limits.map(({ name, enforced, value }) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={enforced}
                onChange={() => void change({ limits: [{ name, enforced: !enforced }] })}
              />{' '}
              <Text text={name} />
              {value !== null && <span class="quiet"> {count(value)}</span>}
            </label>
          ))}
          {limits.length === 0 && <span class="quiet">The service has no limits.</span>}
        </p>
      </section>
      {ended.length > 0 && (
        <section aria-label="Ended faults">
          <h2>Ended</h2>
          {ended.map(({ id, fault, startedAt, endedAt, report }) => (
            <article key={id} class="fault">
              <header>
                <b>{titleOf(fault)}</b> {clockTime(startedAt)}, for {duration(endedAt - startedAt)}
              </header>
              <Report report={report} />
            </article>
          ))}
        </section>
      )}
    </>
  )
}

/** Returns a text as one word of a shell, whatever quotes it has. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function titleOf(fault: FaultSettings): string {
  const { kind, status, latencyMs, moment, bytesPerSecond, maxBytes, encoding, query } = fault
  switch (kind) {
    case 'status':
      return `${status}${fault.retryAfterS === undefined ? '' : ` with Retry-After ${fault.retryAfterS}`}`
    case 'latency':
      return `latency ${duration(latencyMs ?? 0)}`
    case 'reset':
      return moment === 'after-storing' ? 'reset after storing' : 'reset before storing'
    case 'slow-body':
      return `slow body, ${bytes(bytesPerSecond ?? 0)}/s`
    case 'max-bytes':
      return `413 above ${bytes(maxBytes ?? 0)}`
    case 'refuse-encoding':
      return `415 for ${encoding}`
    case 'reject':
      return `reject ${query}`
    case 'revoke-token':
      return 'revoked token'
  }
}

function Report({ report }: { report: FaultReport }) {
  const { attempts, refused, waitsMs, arrived, duplicates, lost } = report
  const waits = waitsMs.slice(-12).map(ms => (ms / 1000).toFixed(1))
  return (
    <p class="report">
      {plural(attempts, 'attempt')}, {count(refused)} refused
      {waits.length > 0 && ` · waits ${waits.join(', ')} s`} · {count(arrived)} arrived since,{' '}
      {plural(duplicates, 'duplicate')},{' '}
      {lost === null ? <span class="quiet">lost: needs identify: true</span> : <b>{count(lost)} lost</b>}
    </p>
  )
}
