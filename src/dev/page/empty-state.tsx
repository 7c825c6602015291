/** What the list says when it is empty: how to send the first event, or why nothing matches. */
import { useEffect, useState } from 'preact/hooks'
import type { SetupAnswer } from '../protocol.ts'
import { api } from './api.ts'
import { count, plural } from './format.ts'
import { type Props, usePage } from './page-context.ts'
import { Go, Text } from './parts.tsx'

type Way = 'winston' | 'otel' | 'otlp' | 'program'
const ways: readonly (readonly [Way, string])[] = [
  ['winston', 'Winston'],
  ['otel', 'OpenTelemetry'],
  ['otlp', 'Any OTLP program'],
  ['program', 'Run a program'],
]

type Setup = Pick<SetupAnswer, 'url' | 'dataset' | 'otlpEndpoint'>
const hiddenToken = '••••••••'

interface Paste {
  title: string
  text: string
}

/** What to paste, and where. The page shows it without the token, which only a copy contains. */
function pastesOf(way: Way, { url, dataset, otlpEndpoint }: Setup, token: string): Paste[] {
  const settings: Paste = {
    title: 'In the shell that starts your program',
    text: `export LOGFERRY_URL=${url}\nexport LOGFERRY_DATASET=${dataset}\nexport LOGFERRY_TOKEN=${token}`,
  }
  switch (way) {
    case 'winston':
      return [
        settings,
        {
          title: 'In the program',
          text: `import winston from 'winston'
import { LogferryTransport } from 'logferry/winston'

const logger = winston.createLogger({ transports: [new LogferryTransport()] })
logger.info('hello', { order: { id: 42 } })`,
        },
      ]
    case 'otel':
      return [
        settings,
        {
          title: 'In the program',
          text: `import { LoggerProvider } from '@opentelemetry/sdk-logs'
import { LogferryLogRecordProcessor } from 'logferry/otel'

const provider = new LoggerProvider({ processors: [new LogferryLogRecordProcessor()] })
provider.getLogger('app').emit({ severityText: 'INFO', body: 'hello' })`,
        },
      ]
    case 'otlp':
      return [
        {
          title: 'In the shell that starts your program, in any language',
          text: `export OTEL_EXPORTER_OTLP_ENDPOINT=${otlpEndpoint}\nexport OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\nexport OTEL_LOGS_EXPORTER=otlp`,
        },
      ]
    case 'program':
      return [{ title: 'Runs your program with these settings', text: 'npx logferry dev -- node app.js' }]
  }
}

export function EmptyState({ state }: Props) {
  const { actions, control } = usePage()
  const [way, setWay] = useState<Way>('winston')
  const [setup, setSetup] = useState<Setup>()
  const { tick, service } = state
  useEffect(() => {
    void control.attempt(async () => {
      const { token, ...rest } = await api.setup()
      setSetup(rest)
    })
  }, [control])
  const address = setup?.url ?? service?.url ?? location.origin
  const copy = (at: number, hasToken: boolean) => {
    const text = api.setup().then(({ token, ...rest }) => pastesOf(way, rest, token)[at]?.text ?? '')
    return actions.copy(text, hasToken ? 'Copied, with the token.' : 'Copied.')
  }
  const requests = tick?.requests ?? 0
  const refused = tick?.refusedRequests ?? 0
  return (
    <div class="empty">
      <h2>No event has arrived yet.</h2>
      <p class="listening">
        <span class="waiting" aria-hidden="true" /> Listening on <code>{address}</code> · {plural(requests, 'request')}
      </p>
      {requests > 0 && refused > 0 && (
        <p class="banner warn">
          <span>
            ▲ {plural(requests, 'request')} came, and the service refused {count(refused)}.
          </span>
          <Go place={{ screen: 'requests', id: '' }} class="button">
            Why?
          </Go>
        </p>
      )}
      <div class="segments" role="group" aria-label="Send logs from">
        {ways.map(([name, title]) => (
          <button key={name} type="button" aria-pressed={way === name} onClick={() => setWay(name)}>
            {title}
          </button>
        ))}
      </div>
      {setup !== undefined &&
        pastesOf(way, setup, hiddenToken).map(({ title, text }, at) => (
          <div class="snippet" key={title}>
            <h3>{title}</h3>
            <pre>
              <code>{text}</code>
            </pre>
            <button
              type="button"
              class="primary"
              aria-label={`Copy: ${title}`}
              onClick={() => void copy(at, text.includes(hiddenToken))}
            >
              Copy
            </button>
          </div>
        ))}
      <p>
        <button type="button" onClick={() => void actions.sendTestEvent()}>
          Send a test event
        </button>
      </p>
    </div>
  )
}

export function NoMatch({ state }: Props) {
  const { actions, control } = usePage()
  const { place, reading, kept } = state
  const { q, from, to, since } = place
  return (
    <div class="empty no-match">
      <h2>No event matches.</h2>
      {reading.notes
        .filter(({ text }) => !text.startsWith('No event matches')) // The title says it.
        .map(note => (
          <p key={note.text}>
            <Text text={note.text} />
          </p>
        ))}
      <p class="quiet">
        {plural(kept, 'event')} {kept === 1 ? 'is' : 'are'} kept. New ones that match show here at once.
      </p>
      <p class="choices-row">
        {reading.notes.map(
          ({ correction }) =>
            correction !== undefined && (
              <button key={correction} type="button" class="primary" onClick={() => actions.setQuery(correction)}>
                Search <Text text={correction} />
              </button>
            ),
        )}
        {q.trim() !== '' && (
          <button type="button" onClick={() => actions.setQuery(JSON.stringify(q.replaceAll('"', ' ').trim()))}>
            Search as text
          </button>
        )}
        {reading.clauses.length > 1 &&
          reading.clauses.map(({ label, start, end }) => (
            <button key={start} type="button" onClick={() => void actions.removeClause(start, end)}>
              Remove <Text text={label} />
            </button>
          ))}
        {(from !== null || to !== null) && (
          <button type="button" onClick={() => actions.setTime(null, null)}>
            Show all times
          </button>
        )}
        {since !== 0 && (
          <button type="button" onClick={() => control.visit({ since: 0 })}>
            Show the cleared events
          </button>
        )}
        {q.trim() !== '' && (
          <button type="button" onClick={() => actions.setQuery('')}>
            Show everything
          </button>
        )}
      </p>
    </div>
  )
}
