/** All that the page shows, in one value. Components read it, and `PageControl` and its parts change it. */
import {
  type EventDetail,
  type EventId,
  type FaultsAnswer,
  type LiveMessages,
  levels,
  type QueryReading,
} from '../protocol.ts'
import type { StreamState } from './connection.ts'
import type { JsonNode } from './json-nodes.ts'
import { following, type ListMode } from './list-mode.ts'
import type { Place } from './place.ts'
import type { Settings } from './settings.ts'

export type Tick = LiveMessages['tick']

export interface ServiceFacts {
  epoch: string
  version: string
  url: string
  maxEvents: number
}

export type DetailState =
  | { kind: 'none' }
  | { kind: 'loading'; id: string }
  | { kind: 'failed'; id: string; message: string }
  | { kind: 'shown'; id: string; event: EventDetail; node: JsonNode | undefined }

/** A bar below the query. One of each kind shows at a time; a newer one replaces it. */
export type Notice =
  | { kind: 'refused'; count: number; dataset: string | null; reason: string; request: number }
  | { kind: 'back'; awayMs: number; count: number; forgotten: number }
  | { kind: 'slow'; count: number; forgotten: number }
  | { kind: 'restarted'; rows: number }
  | { kind: 'late'; count: number; from: number; to: number }
  | { kind: 'deleted' }
  | { kind: 'failed'; text: string }

/** Where the keys act: a row of the list, and a cell of it. */
export interface Cursor {
  rank: number
  column: number
}

/** The menu of a value, and where it opens. */
export interface ValueMenu {
  path: string
  /** JSON text. */
  value: string
  /** The event whose row shows the value, which may be cut there; `undefined` for a whole value. */
  of?: EventId
  left: number
  top: number
}

export interface State {
  place: Place
  settings: Settings
  stream: StreamState
  service: ServiceFacts | null
  /** False until the first answer has said how many events there are. */
  isReady: boolean
  reading: QueryReading
  matched: number
  matchedEvents: number
  complete: boolean
  /** Share of the kept events that has been looked at. */
  read: number
  kept: number
  forgotten: number
  tick: Tick | null
  mode: ListMode
  /** True while the list stands still because the pointer moves over it. */
  isHeld: boolean
  cursor: Cursor | null
  detail: DetailState
  notices: readonly Notice[]
  faults: FaultsAnswer | null
  menu: ValueMenu | null
  dialog: 'help' | 'delete' | null
  /** Short words after an action: "Copied". */
  toast: { text: string; undo?: (() => void) | undefined } | null
  /** True while the time range is chosen by keys. */
  isBrushing: boolean
}

const emptyReading: QueryReading = { clauses: [], notes: [], highlight: [], levels: [...levels] }

export function initialState(place: Place, settings: Settings): State {
  return {
    place,
    settings,
    stream: { kind: 'connecting' },
    service: null,
    isReady: false,
    reading: emptyReading,
    matched: 0,
    matchedEvents: 0,
    complete: true,
    read: 1,
    kept: 0,
    forgotten: 0,
    tick: null,
    mode: following,
    isHeld: false,
    cursor: null,
    detail: { kind: 'none' },
    notices: [],
    faults: null,
    menu: null,
    dialog: null,
    toast: null,
    isBrushing: false,
  }
}

type Listener = (state: State, before: State) => void

/** Holds the state and tells of each change. */
export class Store {
  #state: State
  readonly #listeners = new Set<Listener>()

  constructor(state: State) {
    this.#state = state
  }

  get state(): State {
    return this.#state
  }

  set(change: Partial<State>): void {
    const before = this.#state
    this.#state = { ...before, ...change }
    for (const listener of this.#listeners) listener(this.#state, before)
  }

  /** Shows a notice in place of the last one of its kind. */
  notify(notice: Notice): void {
    this.set({ notices: [...this.#state.notices.filter(({ kind }) => kind !== notice.kind), notice] })
  }

  dismiss(kind: Notice['kind']): void {
    this.set({ notices: this.#state.notices.filter(notice => notice.kind !== kind) })
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
