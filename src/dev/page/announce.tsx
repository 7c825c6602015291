/** The one voice of the page for screen readers: totals, at most every ten seconds, and changes of state at once. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { plural } from './format.ts'
import { isPaused } from './list-mode.ts'
import type { Props } from './page-context.ts'

const everyMs = 10_000

export function Announce({ state }: Props) {
  const [text, setText] = useState('')
  const { stream, mode } = state
  const latest = useRef(state)
  latest.current = state
  useEffect(() => {
    let before = { kept: -1, errors: 0 }
    const timer = setInterval(() => {
      const { kept, forgotten, tick } = latest.current
      const all = kept + forgotten
      const errors = (tick?.levels.error ?? 0) + (tick?.levels.fatal ?? 0)
      const isNew = before.kept >= 0 && all > before.kept
      if (isNew)
        setText(`${plural(all - before.kept, 'new event')}, ${plural(Math.max(errors - before.errors, 0), 'error')}`)
      before = { kept: all, errors }
    }, everyMs)
    return () => clearInterval(timer)
  }, [])
  const isOffline = stream.kind === 'live' ? false : stream.kind === 'offline' || undefined
  useChange(isOffline, isIt => setText(isIt ? 'Disconnected' : 'Connected again'))
  useChange(mode.kind === 'relic' ? undefined : isPaused(mode), isIt => setText(isIt ? 'Paused' : 'Resumed'))
  return (
    <p class="off-screen" role="status">
      {text}
    </p>
  )
}

/** Tells when a state begins and when it ends. The state is `undefined` as long as neither is known. */
function useChange(isOn: boolean | undefined, tell: (isOn: boolean) => void): void {
  const told = useRef(false)
  useEffect(() => {
    if (isOn === undefined || isOn === told.current) return
    told.current = isOn
    tell(isOn)
  }, [isOn])
}
