/** The keys of the page. Single keys act outside of text fields only, and can be switched off. */
import type { Screen } from '../protocol.ts'
import type { Actions } from './actions.ts'
import type { PageControl } from './page-control.ts'
import { tabs } from './place.ts'

export interface KeyHelp {
  keys: string
  what: string
}

export const keyHelp: readonly { title: string; keys: readonly KeyHelp[] }[] = [
  {
    title: 'Move',
    keys: [
      { keys: 'j k ↓ ↑', what: 'next, previous event' },
      { keys: '← →', what: 'cell of the row' },
      { keys: 'PgUp PgDn', what: 'a screen up, down' },
      { keys: 'g G', what: 'newest, oldest event' },
      { keys: '.', what: 'jump to the newest and follow' },
      { keys: 'e E', what: 'next, previous error' },
      { keys: 'w W', what: 'next, previous warning' },
    ],
  },
  {
    title: 'Look',
    keys: [
      { keys: 'Enter', what: 'open the event' },
      { keys: 'Esc', what: 'close, clear the selection, follow' },
      { keys: 't', what: 'the whole trace' },
      { keys: 'v', what: 'context: the same time, no filter' },
      { keys: 'space', what: 'pause and resume' },
      { keys: 'r', what: 'join repeats' },
      { keys: 'm', what: 'mark this moment' },
      { keys: 'c', what: 'clear the view' },
    ],
  },
  {
    title: 'Filter',
    keys: [
      { keys: '/', what: 'query' },
      { keys: 'f', what: 'only this value' },
      { keys: 'x', what: 'exclude this value' },
      { keys: 'b', what: 'choose a time by arrow keys' },
      { keys: 'Alt-click', what: 'exclude the value of a cell' },
      { keys: 'Shift-click', what: 'add the value of a cell with OR' },
    ],
  },
  {
    title: 'Page',
    keys: [
      { keys: 'y Y', what: 'copy the JSON, the link' },
      { keys: `1 – ${tabs.length}`, what: 'tabs' },
      { keys: 'F6', what: 'next region' },
      { keys: '?', what: 'these keys' },
    ],
  },
]

interface ListKeys {
  pageRows: () => number
}

export class Keyboard {
  readonly #control: PageControl
  readonly #actions: Actions
  list: ListKeys = { pageRows: () => 20 }

  constructor(control: PageControl, actions: Actions) {
    this.#control = control
    this.#actions = actions
  }

  start(): void {
    window.addEventListener('keydown', event => this.#onKey(event))
  }

  #onKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return
    const { dialog, settings, place } = this.#control.store.state
    if (dialog !== null) return // The dialog has the keys.
    if (event.key === 'F6') {
      event.preventDefault()
      focusNextRegion(event.shiftKey ? -1 : 1)
      return
    }
    if (isTextField(event.target)) return
    if (event.key === 'Escape') {
      event.preventDefault()
      this.#actions.escape()
      return
    }
    const action =
      this.#moving(event.key, event.target) ??
      (settings.shortcuts ? (this.#anywhere(event.key, event.target) ?? this.#onEvent(event.key)) : undefined)
    if (action === undefined) return
    if (place.screen !== 'events' && !isFor(place.screen, event.key)) return
    event.preventDefault()
    action()
  }

  /** Keys that move in the list. They act if the list has the focus, or if nothing else would use them. */
  #moving(key: string, target: EventTarget | null): (() => void) | undefined {
    if (!isList(target) && target !== document.body) return undefined
    const actions = this.#actions
    const page = this.list.pageRows()
    const isInList = isList(target)
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => actions.move(1),
      ArrowUp: () => actions.move(-1),
      PageDown: () => actions.move(page),
      PageUp: () => actions.move(-page),
      Enter: () => actions.open(),
      ...(isInList && {
        Home: () => actions.moveTo(0),
        End: () => actions.moveTo(Number.MAX_SAFE_INTEGER),
        ArrowRight: () => actions.moveColumn(1),
        ArrowLeft: () => actions.moveColumn(-1),
      }),
    }
    return Object.hasOwn(moves, key) ? moves[key] : undefined
  }

  #anywhere(key: string, target: EventTarget | null): (() => void) | undefined {
    const { store } = this.#control
    const actions = this.#actions
    if (key === ' ') return usesSpace(target) ? undefined : () => this.#control.togglePause()
    if (key === '/') return () => document.getElementById('query')?.focus()
    if (key === '?') return () => store.set({ dialog: 'help' })
    const tab = /^[1-9]$/.test(key) ? tabs[Number(key) - 1] : undefined
    return tab === undefined ? undefined : () => actions.show(tab)
  }

  #onEvent(key: string): (() => void) | undefined {
    const { store } = this.#control
    const actions = this.#actions
    switch (key) {
      case 'j':
        return () => actions.move(1)
      case 'k':
        return () => actions.move(-1)
      case 'g':
        return () => actions.moveTo(0)
      case 'G':
        return () => actions.moveTo(Number.MAX_SAFE_INTEGER)
      case '.':
        return () => this.#control.follow()
      case 'e':
        return () => void actions.nextError(1)
      case 'E':
        return () => void actions.nextError(-1)
      case 'w':
        return () => void actions.nextWarning(1)
      case 'W':
        return () => void actions.nextWarning(-1)
      case 't':
        return () => actions.showTrace(actions.focusedEvent()?.traceId)
      case 'v':
        return () => {
          const event = actions.focusedEvent()
          if (event === undefined) this.#control.toast('Select an event first.')
          else actions.showContext(event.at, event.n)
        }
      case 'f':
        return () => void actions.onFocused('only')
      case 'x':
        return () => void actions.onFocused('exclude')
      case 'm':
        return () => actions.mark()
      case 'c':
        return () => actions.clearView()
      case 'y':
        return () => void actions.copyEvent()
      case 'Y':
        return () => void actions.copyLink()
      case 'r':
        return () => this.#control.visit({ group: !store.state.place.group })
      case 'b':
        return () => store.set({ isBrushing: true })
      default:
        return undefined
    }
  }
}

/** True for a key with a meaning on a screen other than the list. */
function isFor(screen: Screen, key: string): boolean {
  return (screen === 'event' ? /^[/?1-5mcYytv ]$/ : /^[/?1-5mcYy ]$/).test(key)
}

function isTextField(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !/^(?:checkbox|radio|button|range)$/.test(target.type)
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
}

function isList(target: EventTarget | null): boolean {
  return target instanceof Element && target.id === 'list'
}

/** Elements that the space key presses, opens or scrolls. */
function usesSpace(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest('button, a, summary, input, [role=treeitem], [role=menuitem]') !== null
  )
}

function firstFocusable(region: HTMLElement | undefined): HTMLElement | undefined {
  const candidates = region?.querySelectorAll<HTMLElement>(
    'button:not(:disabled), a[href], input, select, summary, [tabindex="0"]',
  )
  return [...(candidates ?? [])].find(element => element.offsetParent !== null && element.tabIndex >= 0)
}

/** Moves the focus to the next region that can have it. */
function focusNextRegion(step: 1 | -1): void {
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')].filter(
    region => region.offsetParent !== null,
  )
  if (regions.length === 0) return
  const current = regions.findIndex(region => region.contains(document.activeElement))
  for (let tried = 1; tried <= regions.length; tried++) {
    const region = regions[(current + step * tried + regions.length * 2) % regions.length]
    const target = region?.matches('[tabindex]') ? region : firstFocusable(region)
    if (target) {
      target.focus()
      return
    }
  }
}
