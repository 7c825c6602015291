/** The list with all that belongs to it: facets, chart, the pill, the open event. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Chart } from './chart.tsx'
import { cellValue, columnsOf } from './columns.ts'
import { EmptyState, NoMatch } from './empty-state.tsx'
import { DetailPanel } from './event-detail.tsx'
import { EventList, listLabel, rowsWithRoom } from './event-list.ts'
import { Facets } from './facets.tsx'
import { age, count, plural } from './format.ts'
import { type Props, usePage } from './page-context.ts'

export function EventsScreen({ state }: Props) {
  const { isReady, kept, complete, stream, place, mode } = state
  const isEmpty = isReady && kept === 0 && mode.kind !== 'relic' && stream.kind !== 'offline'
  const hasNoMatch = isReady && !isEmpty && state.matched === 0 && complete
  const hasDetail = place.sel !== 0 && state.detail.kind !== 'none'
  return (
    <div class={`events${hasDetail ? ' with-detail' : ''}`}>
      {!isEmpty && (
        <div class="facets-column">
          <Facets state={state} />
        </div>
      )}
      <main class="list-column" id="main">
        <h1 class="off-screen">Events</h1>
        {!isEmpty && <Chart state={state} />}
        {!isEmpty && <Pill state={state} />}
        {isEmpty && <EmptyState state={state} />}
        {hasNoMatch && <NoMatch state={state} />}
        <List state={state} isHidden={isEmpty || hasNoMatch} />
        {!isEmpty && <Footer state={state} />}
      </main>
      <DetailPanel state={state} />
    </div>
  )
}

function List({ state, isHidden }: Props & { isHidden: boolean }) {
  const { control, actions, keyboard } = usePage()
  const grid = useRef<HTMLDivElement>(null)
  const list = useRef<EventList | null>(null)
  const more = useRef<HTMLButtonElement>(null)
  const [hovered, setHovered] = useState<{ rank: number; column: number } | null>(null)

  useEffect(() => {
    if (grid.current === null) return
    const made = new EventList(grid.current, control)
    list.current = made
    keyboard.list = { pageRows: () => made.pageRows }
    return made.start()
  }, [control, keyboard])

  const valueAt = (place: { rank: number; column: number } | undefined) => {
    if (place === undefined) return undefined
    const row = control.rows.row(place.rank)
    const { columns } = control.store.state.place
    const column = columnsOf(control.store.state.place)[place.column]
    return row === undefined || column === undefined ? undefined : cellValue(row, column, columns)
  }

  const onClick = (event: MouseEvent) => {
    const place = list.current?.placeOf(event.target)
    if (place === undefined) return
    if (window.getSelection()?.isCollapsed === false) return // A text is being selected, not a row.
    const found = valueAt(place)
    if (event.altKey && found) void actions.exclude(found.path, found.value)
    else if (event.shiftKey && found) void actions.or(found.path, found.value)
    else actions.openAt(place.rank, place.column)
  }

  const openMenu = (place: { rank: number; column: number }) => {
    const of = control.rows.row(place.rank)?.id
    const found = valueAt(place)
    const box = list.current?.boxOf(place.rank, place.column)
    if (of === undefined || found === undefined || box === undefined) return
    control.pin()
    control.store.set({ cursor: place, menu: { ...found, of, left: box.left, top: box.bottom } })
  }

  const box = hovered === null ? undefined : list.current?.boxOf(hovered.rank, hovered.column)
  return (
    <>
      <div
        id="list"
        ref={grid}
        role="grid"
        class="list"
        data-region="list"
        hidden={isHidden}
        tabIndex={0}
        aria-label={listLabel(state)}
        aria-readonly="true"
        onMouseDown={event => {
          // Shift would select text from the last click to this one.
          if (event.shiftKey || event.altKey) event.preventDefault()
        }}
        onClick={onClick}
        onPointerOver={event => {
          const place = list.current?.placeOf(event.target)
          setHovered(place === undefined || place.column < 0 || valueAt(place) === undefined ? null : place)
        }}
        onPointerLeave={event => {
          if (event.relatedTarget !== more.current) setHovered(null)
        }}
        onScroll={() => hovered !== null && setHovered(null)}
        onContextMenu={event => {
          if (!event.shiftKey || !(event.target instanceof Element)) return
          const place = list.current?.placeOf(event.target)
          if (place === undefined) return
          event.preventDefault()
          openMenu(place)
        }}
        onKeyDown={event => {
          const { cursor } = control.store.state
          if (event.key !== 'ContextMenu' && !(event.key === 'F10' && event.shiftKey)) return
          if (cursor === null) return
          event.preventDefault()
          openMenu({ rank: cursor.rank, column: Math.max(cursor.column, 3) })
        }}
      />
      {hovered !== null && box !== undefined && !isHidden && (
        <button
          ref={more}
          type="button"
          class="cell-menu"
          tabIndex={-1}
          aria-label="What to do with this value"
          title="Only, exclude, or, column, copy"
          style={{ left: `${box.right - 24}px`, top: `${box.top + 2}px` }}
          onPointerLeave={() => setHovered(null)}
          onClick={() => openMenu(hovered)}
        >
          ⋯
        </button>
      )}
    </>
  )
}

/** Says that the list stands still, and what has come since. It takes no room, so nothing moves when it comes. */
function Pill({ state }: Props) {
  const { control } = usePage()
  const { mode, tick } = state
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  if (mode.kind !== 'pinned') return <div class="pill-place" />
  const fresh = tick?.fresh ?? 0
  const errors = tick?.freshErrors ?? 0
  return (
    <div class="pill-place">
      <div class="pill">
        {mode.paused && (
          <span>
            <span class="bars" aria-hidden="true" /> Paused {age(now - mode.since)}
          </span>
        )}
        {fresh > 0 && (
          <span>
            {count(fresh)} new{errors > 0 && `, ${plural(errors, 'error')}`} ↑
          </span>
        )}
        {mode.paused ? (
          <button type="button" onClick={() => control.follow()}>
            Resume <kbd>␣</kbd>
          </button>
        ) : (
          <button type="button" onClick={() => control.follow()}>
            Follow <kbd>.</kbd>
          </button>
        )}
      </div>
    </div>
  )
}

function Footer({ state }: Props) {
  const { forgotten, tick, matched, place } = state
  const withoutRoom = matched - rowsWithRoom(matched, place.lines)
  const parts = [
    withoutRoom > 0 &&
      `${plural(withoutRoom, 'older row has', 'older rows have')} no room here: filter, or choose a time`,
    forgotten > 0 && `forgotten ${count(forgotten)}`,
    (tick?.refusedRequests ?? 0) > 0 && `${plural(tick?.refusedRequests ?? 0, 'request')} refused`,
  ]
  return (
    <footer class="foot">
      <span class="keys-line">
        <kbd>j</kbd>/<kbd>k</kbd> move · <kbd>Enter</kbd> open · <kbd>t</kbd> trace · <kbd>x</kbd> exclude ·{' '}
        <kbd>m</kbd> mark · <kbd>?</kbd> keys
      </span>
      <span>{parts.filter(part => part !== false).join(' · ')}</span>
    </footer>
  )
}
