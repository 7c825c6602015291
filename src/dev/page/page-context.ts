import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Actions } from './actions.ts'
import { messageOf, wasAborted } from './api.ts'
import type { Keyboard } from './keyboard.ts'
import type { PageControl } from './page-control.ts'
import type { State } from './state.ts'

/** What every component may use. */
export interface Page {
  control: PageControl
  actions: Actions
  keyboard: Keyboard
}

export const PageContext = createContext<Page | null>(null)

export function usePage(): Page {
  const page = useContext(PageContext)
  if (page === null) throw new Error('This component is not part of the page.')
  return page
}

export interface Props {
  state: State
}

export interface Loaded<Answer> {
  answer: Answer | undefined
  /** The sentence of the last failure. */
  error: string | undefined
  /** Shows an answer that came another way, until the next is loaded. */
  put: (answer: Answer) => void
}

/**
 * Loads an answer when what it depends on changes, and again after `everyMs`. A tab that is not looked at loads nothing
 * before it is. The last answer stays until the next is here.
 */
export function useAnswer<Answer>(
  load: (signal: AbortSignal) => Promise<Answer>,
  dependsOn: readonly unknown[],
  everyMs?: number,
): Loaded<Answer> {
  const [answer, setAnswer] = useState<Answer>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    const end = new AbortController()
    let timer = 0
    let isReading = false
    const read = async () => {
      if (isReading || document.visibilityState !== 'visible') return
      isReading = true
      clearTimeout(timer)
      try {
        setAnswer(await load(end.signal))
        setError(undefined)
      } catch (reason) {
        if (end.signal.aborted || wasAborted(reason)) return
        setError(messageOf(reason))
      }
      isReading = false
      if (everyMs !== undefined && !end.signal.aborted) timer = setTimeout(read, everyMs)
    }
    document.addEventListener('visibilitychange', read, { signal: end.signal })
    void read()
    return () => {
      clearTimeout(timer)
      end.abort()
    }
  }, dependsOn)
  return { answer, error, put: setAnswer }
}
