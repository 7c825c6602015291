/** The query: one text, which is all that filters. Suggestions come from the service, for the word at the cursor. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { maxQueryChars } from '../protocol.ts'
import { api, wasAborted } from './api.ts'
import { shortCount } from './format.ts'
import { type Props, usePage } from './page-context.ts'
import { Text } from './parts.tsx'

interface Suggestion {
  text: string
  label: string
  kind: 'field' | 'operator' | 'value' | 'history'
  count?: number | undefined
}

interface Popup {
  /** The text that the suggestions are for. */
  q: string
  start: number
  end: number
  suggestions: Suggestion[]
}

const applyAfterMs = 120
const suggestAfterMs = 60
const noteAfterMs = 400
const maxSuggestions = 12
const closed: Popup = { q: '', start: 0, end: 0, suggestions: [] }

export function QueryBox({ state }: Props) {
  const { control } = usePage()
  const { place, reading, settings } = state
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(place.q)
  const [popup, setPopup] = useState(closed)
  const [active, setActive] = useState(-1)
  const [isSettled, setSettled] = useState(true)
  const applyTimer = useRef(0)
  const suggestTimer = useRef(0)
  const loading = useRef<AbortController | null>(null)
  /** True if Tab was pressed before the suggestions for the present text were here. */
  const acceptsFirst = useRef(false)

  // A click, a chip or the Back button has changed the query.
  const shown = useRef(place.q)
  if (shown.current !== place.q) {
    shown.current = place.q
    if (text !== place.q) setText(place.q)
  }

  useEffect(() => {
    setSettled(false)
    const timer = setTimeout(() => setSettled(true), noteAfterMs)
    return () => clearTimeout(timer)
  }, [text])

  const close = () => {
    acceptsFirst.current = false
    clearTimeout(suggestTimer.current)
    loading.current?.abort()
    setPopup(closed)
    setActive(-1)
  }

  const suggest = (q: string) => {
    clearTimeout(suggestTimer.current)
    loading.current?.abort()
    const request = new AbortController()
    loading.current = request
    suggestTimer.current = setTimeout(async () => {
      try {
        const at = input.current?.selectionStart ?? q.length
        const history: Suggestion[] =
          q.trim() === '' ? settings.history.slice(0, 6).map(one => ({ text: one, label: one, kind: 'history' })) : []
        const { start, end, suggestions } = await api.suggest({ q, at }, request.signal)
        if (request.signal.aborted || document.activeElement !== input.current) return
        const [first] = suggestions
        if (acceptsFirst.current && first !== undefined) {
          acceptsFirst.current = false
          accept(first, { q, start, end })
          return
        }
        setPopup({ q, start, end, suggestions: [...history, ...suggestions].slice(0, maxSuggestions) })
        setActive(-1)
      } catch (error) {
        if (!wasAborted(error)) setPopup(closed)
      }
    }, suggestAfterMs)
  }

  const apply = (q: string) => {
    clearTimeout(applyTimer.current)
    applyTimer.current = setTimeout(() => {
      shown.current = q
      control.type(q)
    }, applyAfterMs)
  }

  const onInput = (q: string) => {
    acceptsFirst.current = false
    setText(q)
    apply(q)
    suggest(q)
  }

  const run = (q: string) => {
    clearTimeout(applyTimer.current)
    setText(q)
    shown.current = q
    control.submit(q)
    close()
  }

  const accept = (suggestion: Suggestion, place: Omit<Popup, 'suggestions'>) => {
    if (suggestion.kind === 'history') {
      setText(suggestion.text)
      run(suggestion.text)
      return
    }
    const q = place.q.slice(0, place.start) + suggestion.text + place.q.slice(place.end)
    const caret = place.start + suggestion.text.length
    setText(q)
    apply(q)
    setActive(-1)
    requestAnimationFrame(() => {
      input.current?.focus()
      input.current?.setSelectionRange(caret, caret)
      // After a field its values are next; after a value the clause is whole.
      if (suggestion.kind === 'value') close()
      else suggest(q)
    })
  }

  const isOpen = popup.suggestions.length > 0
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = popup.suggestions[active]
    if (event.key === 'Enter') {
      event.preventDefault()
      if (chosen && popup.q === text) accept(chosen, popup)
      else run(text)
    } else if (event.key === 'Tab' && isOpen && !event.shiftKey) {
      const suggestion = chosen ?? popup.suggestions[0]
      if (popup.q !== text) {
        event.preventDefault()
        acceptsFirst.current = true
      } else if (suggestion && suggestion.kind !== 'history') {
        event.preventDefault()
        accept(suggestion, popup)
      } else {
        close()
      }
    } else if (event.key === 'Escape') {
      event.preventDefault()
      if (isOpen) return close()
      input.current?.blur() // the list is not there before it has a row
      document.getElementById('list')?.focus()
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen) return suggest(text)
      const count = popup.suggestions.length
      const next = active + (event.key === 'ArrowDown' ? 1 : -1)
      setActive(next < -1 ? count - 1 : next >= count ? -1 : next)
    }
  }

  const notes = isSettled || reading.notes.length === 0 ? reading.notes : []
  const column = notes.find(note => note.column !== undefined)?.column
  return (
    <search class="query" data-region="query">
      <div class="query-field">
        <span class="slash" aria-hidden="true">
          /
        </span>
        <input
          id="query"
          ref={input}
          type="text"
          role="combobox"
          aria-label="Query"
          aria-expanded={isOpen}
          aria-controls="suggestions"
          aria-autocomplete="list"
          aria-activedescendant={active >= 0 ? `suggestion-${active}` : undefined}
          aria-describedby="query-notes"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={maxQueryChars}
          placeholder={'level:error http.status:>=500 "timed out" -health'}
          value={text}
          onInput={event => onInput(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onFocus={() => text === '' && suggest(text)}
          onBlur={close}
        />
        {column !== undefined && text !== '' && (
          <span class="wrong-column" style={{ '--column': `${column - 1}ch` }} aria-hidden="true" />
        )}
        {text !== '' && (
          <button type="button" class="clear-query" aria-label="Clear the query" title="Clear" onClick={() => run('')}>
            ✕
          </button>
        )}
        <ul id="suggestions" role="listbox" aria-label="Suggestions" hidden={!isOpen}>
          {popup.suggestions.map((suggestion, at) => (
            <li
              key={`${suggestion.kind} ${suggestion.text}`}
              id={`suggestion-${at}`}
              role="option"
              aria-selected={at === active}
              class={suggestion.kind}
              onPointerDown={event => {
                event.preventDefault()
                accept(suggestion, popup)
              }}
            >
              <span class="suggestion-text">
                <Text text={suggestion.label} />
              </span>
              <span class="suggestion-kind">
                {suggestion.count === undefined ? suggestion.kind : shortCount(suggestion.count)}
              </span>
            </li>
          ))}
        </ul>
      </div>
      <div id="query-notes" class="notes">
        {reading.readAs !== undefined && isSettled && (
          <p>
            read as <code>{<Text text={reading.readAs} />}</code>
          </p>
        )}
        {notes.map(note => (
          <p key={note.text}>
            <Text text={note.text} />
            {note.correction !== undefined && <DidYouMean text={note.correction} />}
          </p>
        ))}
      </div>
    </search>
  )
}

function DidYouMean({ text }: { text: string }) {
  const { actions } = usePage()
  return (
    <>
      {' '}
      <button type="button" class="link" onClick={() => actions.setQuery(text)}>
        Search <Text text={text} />
      </button>
    </>
  )
}
