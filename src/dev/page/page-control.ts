/**
 * Connects the address, the stream and the list. A change of the address becomes a change of the view at the service;
 * a message of the stream becomes state that the page shows.
 */
import { joinedWithCommas } from '../../text/comma-list.ts'
import type { LiveMessages, ViewChange, ViewQuery, ViewState } from '../protocol.ts'
import { ApiError, api, messageOf, queryString, wasAborted } from './api.ts'
import { Connection } from './connection.ts'
import { DetailLoader } from './detail-loader.ts'
import { showUtc } from './format.ts'
import { following, isPaused, paused, pinned } from './list-mode.ts'
import { addressOf, type Place, placeOf, viewQueryOf } from './place.ts'
import { RowWindows } from './row-windows.ts'
import { datasetOf, readSettings, type Settings, withColumns, withQuery, writeSettings } from './settings.ts'
import type { Store } from './state.ts'

type Frame = LiveMessages['rows']

/** How a change of the address is remembered: as a step that Back undoes, or not. */
export type Remember = 'step' | 'replace'

const queryKeys = ['q', 'sort', 'since', 'from', 'to', 'group', 'columns', 'mark'] as const
/** A change of these shows other rows; the others only show the same rows differently. */
const selecting: readonly string[] = ['q', 'sort', 'since', 'from', 'to', 'group']
const holdMs = 2000
const readOnMs = 300
const typingMs = 300

export class PageControl {
  readonly store: Store
  readonly rows: RowWindows
  readonly detail: DetailLoader
  readonly #connection: Connection
  /** What the list does on the screen; set by the list. */
  scrollToTop: () => void = () => {}
  reveal: (rank: number) => void = () => {}
  #view: string | undefined
  #revision = 0
  #changes = 0
  #epoch = ''
  #heldUntil = 0
  #holdTimer = 0
  #pendingFrame: Frame | undefined
  /** The frame that was drawn last. */
  #drawnFrame: Frame | undefined
  #addressTimer = 0
  /** True while a query is typed: the step that Back undoes has begun. */
  #isTyping = false
  #toastTimer = 0
  #offlineSince = 0
  /** Since when the stream was away that has just come back; 0 if it was not. */
  #awaySince = 0

  constructor(store: Store) {
    this.store = store
    this.detail = new DetailLoader(store)
    this.rows = new RowWindows(
      (until, from, n, signal) => api.rows({ view: this.#view ?? '', until, from, n }, signal),
      () => this.#onRowsRead(),
      error => this.#failed(error),
    )
    this.#connection = new Connection({
      query: () => this.#liveQuery(),
      handlers: {
        hello: message => this.#onHello(message),
        rows: frame => this.#onRows(frame),
        tick: message => this.#onTick(message),
        gap: message => this.#onGap(message),
        refused: ({ n, dataset, reason, count }) => {
          const before = store.state.notices.find(notice => notice.kind === 'refused')
          store.notify({ kind: 'refused', count: count + (before?.count ?? 0), dataset, reason, request: n })
        },
        faults: faults => store.set({ faults }),
        cleared: () => this.#onCleared(),
        bye: () => {},
      },
      onState: stream => {
        if (stream.kind === 'offline') this.#offlineSince = stream.since
        store.set({ stream })
      },
      onHiddenErrors: errors => {
        document.title = errors === 0 ? 'logferry dev' : `(${errors}) logferry dev`
      },
    })
  }

  start(): void {
    showUtc(this.store.state.settings.utc)
    window.addEventListener('popstate', () => {
      clearTimeout(this.#addressTimer)
      this.#isTyping = false
      this.#go(placeOf(new URL(location.href)))
    })
    // Another tab has saved its settings. The next change of this one would take them back.
    window.addEventListener('storage', () => this.#adoptSettings(readSettings()))
    this.#connection.start()
    const { place } = this.store.state
    if (place.screen === 'event') void this.detail.open(place.id, place.time)
    setInterval(() => this.#readOn(), readOnMs)
  }

  retryNow(): void {
    this.#connection.retryNow()
  }

  // The address

  /** Changes the address and all that follows from it. */
  visit(change: Partial<Place>, remember: Remember = 'step'): void {
    const place: Place = { ...this.store.state.place, epoch: this.#epoch, ...change }
    clearTimeout(this.#addressTimer)
    const address = addressOf(place)
    if (remember === 'replace') history.replaceState(null, '', address)
    else if (address !== location.pathname + location.search) history.pushState(null, '', address)
    this.#isTyping = false
    this.#go(place)
  }

  /** Changes the query while it is typed: at once for the list, and a little later for the address. */
  type(q: string): void {
    if (q === this.store.state.place.q) return
    this.#go({ ...this.store.state.place, epoch: this.#epoch, q })
    clearTimeout(this.#addressTimer)
    this.#addressTimer = setTimeout(() => {
      // All that is typed at a time is one step.
      const address = addressOf(this.store.state.place)
      if (this.#isTyping) history.replaceState(null, '', address)
      else history.pushState(null, '', address)
      this.#isTyping = true
    }, typingMs)
  }

  /** Ends the typing of a query: Back returns from here. */
  submit(q: string): void {
    this.saveSettings(withQuery(this.store.state.settings, q))
    this.visit({ q }, this.#isTyping ? 'replace' : 'step')
  }

  #go(place: Place): void {
    const before = this.store.state.place
    const changed = queryKeys.filter(key => JSON.stringify(place[key]) !== JSON.stringify(before[key]))
    if (changed.includes('columns')) this.rows.changeColumns(before.columns, place.columns)
    this.store.set({ place, menu: null })
    if (changed.length > 0) {
      const patch = Object.fromEntries(changed.map(key => [key, place[key]])) as Partial<ViewQuery>
      if (changed.some(key => selecting.includes(key))) void this.#select(patch, place)
      else void this.#changeView(patch, true)
    }
    if (changed.includes('columns')) {
      this.saveSettings(withColumns(this.store.state.settings, datasetOf(place.q), place.columns))
    }
    if (place.screen !== before.screen || place.id !== before.id) this.#onScreen(place, before)
    if (place.sel !== before.sel) this.#onSelected(place.sel)
  }

  #onScreen(place: Place, before: Place): void {
    if (place.screen === 'event') void this.detail.open(place.id, place.time)
    else if (before.screen === 'event') this.#onSelected(place.sel)
  }

  #onSelected(n: number): void {
    if (n === 0) {
      this.detail.close()
      return
    }
    this.pin()
    const rank = this.#rankOf(n)
    if (rank !== undefined) this.store.set({ cursor: { rank, column: this.store.state.cursor?.column ?? -1 } })
    const id = rank === undefined ? undefined : this.rows.row(rank)?.id
    if (this.#epoch !== '' || id !== undefined) void this.detail.open(id ?? `${this.#epoch}.${n}`)
  }

  #rankOf(n: number): number | undefined {
    const { cursor } = this.store.state
    if (cursor !== null && this.rows.row(cursor.rank)?.n === n) return cursor.rank
    for (let rank = 0; rank < Math.min(this.rows.matched, 4000); rank++) {
      if (this.rows.row(rank)?.n === n) return rank
    }
    return undefined
  }

  saveSettings(settings: Settings): void {
    writeSettings(settings)
    this.#adoptSettings(settings)
  }

  #adoptSettings(settings: Settings): void {
    showUtc(settings.utc)
    this.store.set({ settings })
  }

  // The list

  /** Keeps the list as it is on the screen, until it is told to follow again. */
  pin(): void {
    const { mode } = this.store.state
    if (mode.kind !== 'following') return
    this.#stopHolding()
    this.rows.pin()
    this.store.set({ mode: pinned(mode, Date.now()) })
    void this.#changeView({ pinned: this.rows.until }, false)
  }

  pause(): void {
    const { mode } = this.store.state
    if (mode.kind === 'relic') return
    this.pin()
    this.store.set({ mode: paused(this.store.state.mode, Date.now()) })
  }

  /** Shows the newest events and follows them. An open event keeps the list still, at the newest arrival. */
  follow(): void {
    const { place } = this.store.state
    this.store.dismiss('restarted')
    this.scrollToTop()
    if (place.sel !== 0) {
      this.store.set({ mode: { kind: 'pinned', since: Date.now(), paused: false }, cursor: null })
      void this.#changeView({ pinned: true }, true)
      return
    }
    this.store.set({ mode: following, cursor: null })
    void this.#changeView({ pinned: false }, true)
  }

  togglePause(): void {
    if (isPaused(this.store.state.mode)) this.follow()
    else this.pause()
  }

  /** Keeps the list still for a moment, so that no row slips away from under the pointer. */
  hold(): void {
    if (this.store.state.mode.kind !== 'following') return
    this.#heldUntil = performance.now() + holdMs // the clock of the machine may be set back meanwhile
    if (this.#holdTimer !== 0) return
    this.store.set({ isHeld: true })
    this.#holdTimer = setTimeout(() => this.#endHold(), holdMs)
  }

  #endHold(): void {
    const leftMs = this.#heldUntil - performance.now()
    if (leftMs > 0) {
      this.#holdTimer = setTimeout(() => this.#endHold(), leftMs)
      return
    }
    const frame = this.#pendingFrame
    this.#stopHolding()
    if (frame !== undefined) this.#onRows(frame)
  }

  #stopHolding(): void {
    clearTimeout(this.#holdTimer)
    this.#holdTimer = 0
    this.#pendingFrame = undefined
    if (this.store.state.isHeld) this.store.set({ isHeld: false })
  }

  // The view at the service

  /** Shows the rows of another query. An open event or a pause keeps the list still. */
  async #select(patch: Partial<ViewQuery>, place: Place): Promise<void> {
    const { mode } = this.store.state
    this.#stopHolding()
    this.store.dismiss('restarted')
    this.scrollToTop()
    this.store.set({ cursor: null })
    if (isPaused(mode)) return this.#changeView(patch, true)
    if (place.sel !== 0) {
      this.store.set({ mode: pinned(mode.kind === 'relic' ? following : mode, Date.now()) })
      return this.#changeView({ ...patch, pinned: true }, true)
    }
    this.store.set({ mode: following })
    return this.#changeView({ ...patch, pinned: false }, true)
  }

  async #changeView(change: Omit<ViewChange, 'view'>, isNewList: boolean): Promise<void> {
    const view = this.#view
    if (view === undefined) return // The stream opens with the whole query.
    const number = ++this.#changes
    try {
      const state = await api.changeView({ view, ...change })
      if (view !== this.#view) return
      this.#revision = Math.max(this.#revision, state.revision ?? 0)
      if (number === this.#changes) this.#adopt(state, isNewList)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'no-such-view') this.#connection.reopen()
      else this.#failed(error)
    }
  }

  #adopt(state: ViewState, isNewList: boolean): void {
    const { reading, matched, matchedEvents, complete } = state
    const isRelic = this.store.state.mode.kind === 'relic'
    if (isRelic || this.#isOvertaken(state)) return this.store.set({ reading, isReady: true })
    this.store.set({ reading, matched, matchedEvents: matchedEvents ?? matched, complete, isReady: true })
    if (!isNewList) return
    this.rows.draw({ rows: state.rows, matched, complete, newest: state.pinnedAt ?? state.newest })
    if (this.store.state.mode.kind === 'pinned') this.rows.pin()
    this.#findCursor()
  }

  /**
   * True if the stream, which is another connection, has brought a later state of the same list before this answer: with
   * events that arrived later, or after the service has found more of the matches.
   */
  #isOvertaken({ revision = 0, newest, view, matched }: ViewState): boolean {
    const frame = this.#drawnFrame
    if (frame === undefined || view !== this.#view || this.store.state.mode.kind !== 'following') return false
    if ((frame.revision ?? 0) < revision) return false
    return frame.newest > newest || (frame.newest === newest && frame.matched > matched)
  }

  /** Puts the cursor on the event that is open, if the list has it. */
  #findCursor(): void {
    const { place, cursor } = this.store.state
    if (place.sel === 0 || cursor !== null) return
    const rank = this.#rankOf(place.sel)
    if (rank !== undefined) this.store.set({ cursor: { rank, column: -1 } })
  }

  #onRowsRead(): void {
    const { matched, complete, read } = this.rows
    if (this.store.state.mode.kind === 'following') this.store.set({})
    else this.store.set({ matched, complete, read })
  }

  #readOn(): void {
    if (!this.store.state.complete) this.rows.readOn(this.#firstShown)
  }

  #firstShown = 0

  /** Told by the list: the ranks that are on the screen. */
  onShown(from: number, to: number): void {
    this.#firstShown = from
    this.rows.want(from, to)
  }

  // Messages of the stream

  #liveQuery(): URLSearchParams {
    const query = viewQueryOf(this.store.state.place)
    const { columns, ...rest } = query
    return new URLSearchParams(queryString({ ...rest, columns: joinedWithCommas(columns) }))
  }

  #onHello(hello: LiveMessages['hello']): void {
    const { epoch, view, version, url, maxEvents, kept, forgotten } = hello
    const isFirst = this.#epoch === ''
    const isRestarted = !isFirst && this.#epoch !== epoch
    const keepsOldRows = isRestarted && this.rows.heldRows().length > 0
    this.#epoch = epoch
    this.#view = view.view
    this.#drawnFrame = undefined
    this.#revision = view.revision ?? 0
    this.#changes++
    this.#awaySince = this.#offlineSince
    this.#offlineSince = 0
    this.store.set({ service: { epoch, version, url, maxEvents }, kept, forgotten, isReady: true })
    if (keepsOldRows) this.#keepRelic()
    this.#dropForeignNumbers(epoch)
    const { mode, place } = this.store.state
    if (mode.kind === 'relic') return
    if (mode.kind === 'pinned') {
      // The pin was in the view of the stream before. The first stream has none: an event was opened before any row came.
      if (isFirst) this.#adopt(view, true)
      else this.store.set({ reading: view.reading })
      void this.#changeView({ pinned: this.rows.until }, false)
      return
    }
    this.#adopt(view, true)
    if (place.sel !== 0) this.#onSelected(place.sel)
  }

  /** The rows of a service that has ended stay on the screen until the reader has done with them. */
  #keepRelic(): void {
    this.#stopHolding()
    this.rows.freeze()
    this.store.set({ mode: { kind: 'relic' }, matched: this.rows.matched })
    this.store.notify({ kind: 'restarted', rows: this.rows.matched })
  }

  /** Arrival numbers in the address that were counted by another run of the service mean nothing to this one. */
  #dropForeignNumbers(epoch: string): void {
    const { place } = this.store.state
    if (place.epoch === epoch) return
    const { since, mark } = place
    const isOf = place.epoch !== ''
    this.store.set({ place: { ...place, epoch, ...(isOf && { since: 0, mark: 0, sel: 0 }) } })
    history.replaceState(null, '', addressOf(this.store.state.place))
    if (isOf && (since !== 0 || mark !== 0)) void this.#changeView({ since: 0, mark: 0 }, true)
  }

  #onRows(frame: Frame): void {
    if ((frame.revision ?? this.#revision) < this.#revision) return
    if (this.store.state.mode.kind !== 'following') return
    if (this.store.state.isHeld) this.#pendingFrame = frame
    else this.#draw(frame)
  }

  #draw(frame: Frame): void {
    const { complete } = this.store.state
    this.#drawnFrame = frame
    this.store.set({ matched: frame.matched })
    this.rows.draw({ rows: frame.rows, matched: frame.matched, newest: frame.newest, complete })
  }

  #onTick(tick: LiveMessages['tick']): void {
    if ((tick.revision ?? this.#revision) < this.#revision) return
    const { mode, tick: before } = this.store.state
    const { kept, forgotten } = tick
    // A pause also stops the chart and the facets.
    const shown = isPaused(mode) && before !== null ? { ...tick, chart: before.chart } : tick
    this.store.set({ tick: shown, kept, forgotten, ...(tick.reading && { reading: tick.reading }) })
    if (mode.kind === 'following') {
      const { matched, complete, read } = tick
      this.store.set({ matched, matchedEvents: tick.matchedEvents ?? matched, complete, read })
      this.rows.complete = complete
    }
    if (tick.late !== null && tick.late.count > 0) {
      const old = this.store.state.notices.find(notice => notice.kind === 'late')
      const { count, from, to } = tick.late
      this.store.notify({
        kind: 'late',
        count: count + (old?.count ?? 0),
        from: Math.min(from, old?.from ?? from),
        to: Math.max(to, old?.to ?? to),
      })
    }
  }

  #onGap({ reason, count, forgotten }: LiveMessages['gap']): void {
    if (reason === 'reconnected' && this.#awaySince !== 0) {
      this.store.notify({ kind: 'back', awayMs: Date.now() - this.#awaySince, count, forgotten })
    } else if (reason === 'slow' || reason === 'forgotten') {
      this.store.notify({ kind: 'slow', count, forgotten })
    }
  }

  #onCleared(): void {
    this.store.notify({ kind: 'deleted' })
    this.visit({ sel: 0, since: 0, mark: 0 }, 'replace')
    this.follow()
  }

  // What happens on the way

  /** Says what an action has done. */
  toast(text: string, undo?: () => void): void {
    clearTimeout(this.#toastTimer)
    this.store.set({ toast: { text, undo } })
    this.#toastTimer = setTimeout(() => this.store.set({ toast: null }), 5000)
  }

  /** Runs an action and shows the sentence of its failure. */
  async attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    if (wasAborted(error)) return
    // The state of the stream says already that the service is gone.
    if (error instanceof ApiError && error.code === 'unreachable') return
    this.store.notify({ kind: 'failed', text: messageOf(error) })
  }
}
