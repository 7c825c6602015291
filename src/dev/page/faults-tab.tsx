/** Faults that the service makes on purpose, and what the application did meanwhile. */
import { useEffect, useState } from 'preact/hooks'
import type { FaultChange, FaultReport, FaultsAnswer } from '../protocol.ts'
import { api } from './api.ts'
import { FaultForm, faultName } from './fault-form.tsx'
import { clockTime, count, duration, plural } from './format.ts'
import { LimitsForm } from './limits-form.tsx'
import { type Props, useAnswer, usePage } from './page-context.ts'
import { Plain } from './parts.tsx'

const refreshMs = 1000

export function FaultsScreen({ state }: Props) {
  const { control } = usePage()
  const { answer, error, put } = useAnswer(signal => api.faults(signal), [state.faults], refreshMs)
  const change = async (body: FaultChange) => {
    const faults = await api.changeFaults(body)
    put(faults)
    control.store.set({ faults })
  }
  return (
    <main class="screen" id="main">
      <header class="screen-head">
        <h1>Faults</h1>
        <p>Start a fault or set a limit, log as usual, and watch what the program does. Each fault ends by itself.</p>
      </header>
      <FaultForm onStart={start => void control.attempt(() => change({ start }))} />
      {answer === undefined ? <Plain title={error ?? 'Loading …'} /> : <Faults answer={answer} change={change} />}
    </main>
  )
}

type Change = (body: FaultChange) => Promise<void>

function Faults({ answer, change }: { answer: FaultsAnswer; change: Change }) {
  const { actions, control } = usePage()
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
              <b>▶ {faultName(fault)}</b> for {duration(Math.max(endsAt - now, 0))} more
              <button type="button" onClick={() => void control.attempt(() => change({ stop: id }))}>
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
      <LimitsForm limits={limits} onChange={limit => change({ limits: [limit] })} />
      {ended.length > 0 && (
        <section aria-label="Ended faults">
          <h2>Ended</h2>
          {ended.map(({ id, fault, startedAt, endedAt, report }) => (
            <article key={id} class="fault">
              <header>
                <b>{faultName(fault)}</b> {clockTime(startedAt)}, for {duration(endedAt - startedAt)}
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

function Report({ report }: { report: FaultReport }) {
  const { attempts, refused, waitsMs, arrived, duplicates, lost } = report
  const waits = waitsMs.slice(-12).map(ms => (ms / 1000).toFixed(1))
  return (
    <p class="report">
      {plural(attempts, 'attempt')}, {count(refused)} refused
      {waits.length > 0 && ` · waits ${waits.join(', ')} s`} · {count(arrived)} arrived since,{' '}
      {plural(duplicates, 'duplicate')},{' '}
      {lost === null ? (
        <span class="quiet">
          lost events are counted only if the shipper has the option <code>identify: true</code>
        </span>
      ) : (
        <b>{count(lost)} lost</b>
      )}
    </p>
  )
}
