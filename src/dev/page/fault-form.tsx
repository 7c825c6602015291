/** The form that starts a fault, and what the page knows of each kind of fault. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type FaultKind, type FaultSettings, faultKinds } from '../protocol.ts'
import { bytes, duration } from './format.ts'

type OwnSettings = Omit<FaultSettings, 'kind' | 'forS'>
type Change = (change: Partial<FaultSettings>) => void

interface FaultControls {
  /** What the fault does, in the list of the kinds. */
  title: string
  /** The settings that the form begins with. */
  first: OwnSettings
  inputs(settings: OwnSettings, change: Change): ComponentChildren
  /** Names a fault that runs or has ended. */
  nameOf(settings: OwnSettings): string
}

const controls: Readonly<Record<FaultKind, FaultControls>> = {
  status: {
    title: 'Answer with a status',
    first: { status: 503 },
    inputs: ({ status, retryAfterS }, change) => (
      <>
        <NumberInput label="Status" value={status} min={300} max={599} onValue={status => change({ status })} />
        <label>
          Retry-After, s
          <input
            type="number"
            min={0}
            max={600}
            placeholder="none"
            value={retryAfterS ?? ''}
            onInput={({ currentTarget: { value } }) =>
              change({ retryAfterS: value === '' ? undefined : Number(value) })
            }
          />
        </label>
      </>
    ),
    nameOf: ({ status, retryAfterS }) =>
      `${status}${retryAfterS === undefined ? '' : ` with Retry-After ${retryAfterS}`}`,
  },
  latency: {
    title: 'Answer late',
    first: { latencyMs: 2000 },
    inputs: ({ latencyMs }, change) => (
      <NumberInput
        label="Latency, ms"
        value={latencyMs}
        min={1}
        max={600_000}
        onValue={latencyMs => change({ latencyMs })}
      />
    ),
    nameOf: ({ latencyMs = 0 }) => `latency ${duration(latencyMs)}`,
  },
  reset: {
    title: 'Reset the connection',
    first: { moment: 'after-storing' },
    inputs: ({ moment }, change) => (
      <label>
        Moment
        <select
          value={moment}
          onChange={event => change({ moment: event.currentTarget.value as FaultSettings['moment'] })}
        >
          <option value="before-storing">before storing</option>
          <option value="after-storing">after storing</option>
        </select>
      </label>
    ),
    nameOf: ({ moment }) => (moment === 'after-storing' ? 'reset after storing' : 'reset before storing'),
  },
  'slow-body': {
    title: 'Send the answer slowly',
    first: { bytesPerSecond: 10_000 },
    inputs: ({ bytesPerSecond }, change) => (
      <NumberInput
        label="Bytes per second"
        value={bytesPerSecond}
        min={1}
        max={1_000_000_000}
        onValue={bytesPerSecond => change({ bytesPerSecond })}
      />
    ),
    nameOf: ({ bytesPerSecond = 0 }) => `slow answers, ${bytes(bytesPerSecond)}/s`,
  },
  'max-bytes': {
    title: 'Refuse large bodies (413)',
    first: { maxBytes: 100_000 },
    inputs: ({ maxBytes }, change) => (
      <NumberInput
        label="Maximum, bytes"
        value={maxBytes}
        min={1}
        max={1_000_000_000}
        onValue={maxBytes => change({ maxBytes })}
      />
    ),
    nameOf: ({ maxBytes = 0 }) => `413 above ${bytes(maxBytes)}`,
  },
  'refuse-encoding': {
    title: 'Refuse a compression (415)',
    first: { encoding: 'zstd' },
    inputs: ({ encoding }, change) => (
      <label>
        Compression
        <select value={encoding} onChange={event => change({ encoding: event.currentTarget.value })}>
          <option>zstd</option>
          <option>gzip</option>
        </select>
      </label>
    ),
    nameOf: ({ encoding }) => `415 for ${encoding}`,
  },
  reject: {
    title: 'Reject some events in a 200',
    first: { query: 'level:debug' },
    inputs: ({ query }, change) => (
      <label>
        Events that match
        <input
          type="text"
          class="wide-input"
          value={query}
          spellcheck={false}
          onInput={event => change({ query: event.currentTarget.value })}
        />
      </label>
    ),
    nameOf: ({ query }) => `reject ${query}`,
  },
  'revoke-token': {
    title: 'Revoke the token',
    first: {},
    inputs: () => null,
    nameOf: () => 'revoked token',
  },
}

/** The settings of every kind: what was typed for one kind is still there after a look at another. */
const first: FaultSettings = Object.assign(
  { kind: 'status', forS: 30 } as const,
  ...faultKinds.map(kind => controls[kind].first),
)

/** Returns the name of a fault that runs or has ended. */
export function faultName(fault: FaultSettings): string {
  return controls[fault.kind].nameOf(fault)
}

/** @param onStart gets the settings of every kind; the service takes those of the chosen one */
export function FaultForm({ onStart }: { onStart: (settings: FaultSettings) => void }) {
  const [settings, setSettings] = useState(first)
  const change: Change = part => setSettings({ ...settings, ...part })
  const { kind, forS } = settings
  return (
    <form
      class="fault-form"
      onSubmit={event => {
        event.preventDefault()
        onStart(settings)
      }}
    >
      <label>
        Fault
        <select value={kind} onChange={event => change({ kind: event.currentTarget.value as FaultKind })}>
          {faultKinds.map(name => (
            <option key={name} value={name}>
              {controls[name].title}
            </option>
          ))}
        </select>
      </label>
      {controls[kind].inputs(settings, change)}
      <NumberInput label="For, s" value={forS} min={1} max={600} onValue={forS => change({ forS })} />
      <button type="submit" class="primary">
        Start
      </button>
    </form>
  )
}

interface NumberInputProps {
  label: string
  value: number | undefined
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
