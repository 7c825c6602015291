/** The limits of the license: which of them the service enforces, and their values. */
import { useState } from 'preact/hooks'
import type { FaultChange, LimitState } from '../protocol.ts'
import { ApiError } from './api.ts'
import { usePage } from './page-context.ts'
import { Text } from './parts.tsx'

type Field = LimitState['fields'][number]
type Change = Extract<FaultChange, { limits: unknown }>['limits'][number]

interface Words {
  title: string
  /** What the service does beyond the limit. */
  what: string
  /** The labels of the fields, if the title does not say enough. */
  fields?: Readonly<Record<string, string>>
}

const words: Readonly<Record<string, Words>> = {
  apiRateLimitPerSecond: { title: 'Requests per second', what: 'A request beyond them gets a 429.' },
  maxFields: { title: 'Fields of a dataset', what: 'An event with one field more fails, inside a 200.' },
  monthlyIngestGb: { title: 'GB a month', what: 'When they are used up, requests get a 429.' },
  maxDatasets: { title: 'Datasets', what: 'A request for one more gets a 403.' },
  expiry: {
    title: 'Validity',
    what: 'Requests get a 403 before and after it, and while the payment is blocked.',
    fields: { validFrom: 'Valid from', expiresAt: 'Expires at', paymentStatus: 'Payment' },
  },
}

const choices: Readonly<Record<string, readonly string[]>> = { paymentStatus: ['na', 'failed', 'success', 'blocked'] }

interface LimitsProps {
  limits: readonly LimitState[]
  /** Changes one limit. Fails with an `ApiError` that names the field whose value is invalid. */
  onChange: (change: Change) => Promise<void>
}

export function LimitsForm({ limits, onChange }: LimitsProps) {
  return (
    <section aria-label="Limits of the license">
      <h2>Limits</h2>
      <p class="quiet">
        A limit that you set is enforced at once. Programs that read the license find the same values there.
      </p>
      <div class="limits">
        {limits.map(limit => (
          <LimitForm key={limit.name} limit={limit} onChange={onChange} />
        ))}
      </div>
    </section>
  )
}

interface LimitProps extends Pick<LimitsProps, 'onChange'> {
  limit: LimitState
}

function LimitForm({ limit, onChange }: LimitProps) {
  const { control } = usePage()
  const { name, enforced, enforcedAtStart, fields } = limit
  const [typed, setTyped] = useState<ReadonlyMap<string, string>>(new Map())
  const [problem, setProblem] = useState<{ field: string; message: string }>()
  const { title, what, fields: labels = {} } = words[name] ?? { title: name, what: '' }
  const forget = () => {
    setTyped(new Map())
    setProblem(undefined)
  }
  const change = (part: Omit<Change, 'name'>) =>
    control.attempt(async () => {
      try {
        await onChange({ name, ...part })
        if (part.fields !== undefined) forget()
      } catch (error) {
        if (!(error instanceof ApiError) || error.field === undefined) throw error
        const { field, message } = error
        setProblem({ field, message: sentence(message, field) })
      }
    })
  const set = () =>
    change({
      enforced: true,
      fields: [...typed].map(([field, text]) => ({ name: field, value: typedValue(text, fields, field) })),
    })
  const reset = () =>
    change({ enforced: enforcedAtStart, fields: fields.map(field => ({ name: field.name, value: field.atStart })) })
  return (
    <form
      class="limit"
      aria-label={title}
      onSubmit={event => {
        event.preventDefault()
        void set()
      }}
    >
      <label class="limit-switch">
        <input type="checkbox" checked={enforced} onChange={() => void change({ enforced: !enforced })} />
        <span>
          <b>{title}</b>
          <br />
          <span class="quiet">{what}</span>
        </span>
      </label>
      <span class="limit-values">
        {fields.map(field => (
          <LimitInput
            key={field.name}
            field={field}
            label={labels[field.name]}
            title={title}
            text={typed.get(field.name) ?? String(field.value)}
            problem={problem?.field === field.name ? problem.message : undefined}
            onText={text => setTyped(new Map(typed).set(field.name, text))}
          />
        ))}
      </span>
      <span class="limit-actions">
        <button type="submit" aria-label={`Set: ${title}`}>
          Set
        </button>
        <button type="button" aria-label={`Reset: ${title}`} onClick={() => void reset()}>
          Reset
        </button>
      </span>
    </form>
  )
}

interface LimitInputProps {
  field: Field
  /** The label to show; without it, the input has the title of the limit. */
  label: string | undefined
  title: string
  text: string
  problem: string | undefined
  onText: (text: string) => void
}

function LimitInput({ field, label, title, text, problem, onText }: LimitInputProps) {
  const allowed = choices[field.name]
  const id = `limit-${field.name}`
  const problemId = `problem-${field.name}`
  const isNumber = typeof field.value === 'number'
  const shared = {
    id,
    value: text,
    'aria-label': label === undefined ? title : undefined,
    'aria-invalid': problem !== undefined,
    'aria-describedby': problem === undefined ? undefined : problemId,
  }
  return (
    <span class="limit-value">
      <span class="limit-field">
        {label !== undefined && <label for={id}>{label}</label>}
        {allowed === undefined ? (
          <input
            type="text"
            class={isNumber ? 'number' : 'time'}
            inputMode={isNumber ? 'decimal' : 'text'}
            spellcheck={false}
            autoComplete="off"
            onInput={event => onText(event.currentTarget.value)}
            {...shared}
          />
        ) : (
          <select onChange={event => onText(event.currentTarget.value)} {...shared}>
            {allowed.map(choice => (
              <option key={choice}>{choice}</option>
            ))}
          </select>
        )}
      </span>
      {problem !== undefined && (
        <span class="bad" id={problemId} role="alert">
          <Text text={problem} />
        </span>
      )}
    </span>
  )
}

/** Returns what was typed as a number if the field has numbers. What is no number goes to the service, which says so. */
function typedValue(text: string, fields: readonly Field[], name: string): number | string {
  const isNumber = typeof fields.find(field => field.name === name)?.value === 'number'
  const value = Number(text)
  return isNumber && text.trim() !== '' && Number.isFinite(value) ? value : text
}

/** Returns the message of the service without the name of the field, beside which it stands. */
function sentence(message: string, field: string): string {
  const rest = message.toLowerCase().startsWith(`${field.toLowerCase()} `) ? message.slice(field.length + 1) : message
  return rest.charAt(0).toUpperCase() + rest.slice(1)
}
