/** The top of every tab: tabs, the state of the stream, what is kept, theme and help. */
import { age, clockSeconds, count, shortCount } from './format.ts'
import { type Props, usePage } from './page-context.ts'
import { Go } from './parts.tsx'
import { home, type Tab, tabs } from './place.ts'
import type { State } from './state.ts'

const titles: Readonly<Record<Tab, string>> = {
  events: 'Events',
  requests: 'Requests',
  fields: 'Fields',
  cost: 'Cost',
  faults: 'Faults',
}

const themes = { auto: 'light', light: 'dark', dark: 'auto' } as const
const themeMarks = { auto: '◐', light: '○', dark: '●' } as const

export function TopBar({ state }: Props) {
  const { control } = usePage()
  const { place, settings, tick, kept, forgotten } = state
  const theme = settings.theme
  const current =
    place.screen === 'groups' || place.screen === 'trace' || place.screen === 'event' ? 'events' : place.screen
  return (
    <header class="top">
      <Go place={{ ...home, columns: place.columns }} class="brand" title="All events">
        logferry <span>dev</span>
      </Go>
      <nav aria-label="Tabs" data-region="tabs">
        {tabs.map((tab, at) => (
          <Go key={tab} place={{ screen: tab, id: '' }} current={tab === current} class="tab" title={`Key ${at + 1}`}>
            {titles[tab]}
            {tab === 'requests' && tick !== null && tick.refusedRequests > 0 && (
              <span class="tab-count">
                {count(tick.refusedRequests)} <span class="off-screen">refused</span>
              </span>
            )}
            {tab === 'faults' && state.faults !== null && state.faults.running.length > 0 && (
              <span class="tab-count">
                {state.faults.running.length} <span class="off-screen">running</span>
              </span>
            )}
          </Go>
        ))}
      </nav>
      <StreamLabel state={state} />
      <span class="kept" title={`${count(kept)} events are kept; ${count(forgotten)} older ones were forgotten`}>
        kept {shortCount(kept)}
        {forgotten > 0 && ` of ${shortCount(kept + forgotten)}`}
      </span>
      <button
        type="button"
        class="icon"
        title={`Theme: ${theme === 'auto' ? 'as the system' : theme}`}
        aria-label={`Theme: ${theme === 'auto' ? 'as the system' : theme}. Change it.`}
        onClick={() => control.saveSettings({ ...settings, theme: themes[theme] })}
      >
        <span aria-hidden="true">{themeMarks[theme]}</span>
      </button>
      <button
        type="button"
        class="icon"
        title="Keys and settings (?)"
        aria-label="Keys and settings"
        onClick={() => control.store.set({ dialog: 'help' })}
      >
        <span aria-hidden="true">?</span>
      </button>
    </header>
  )
}

/** Fewer than these are events of the frame that is about to come, and no reason to wonder. */
const minNotDrawn = 50

function StreamLabel({ state }: { state: State }) {
  const { stream, tick, mode } = state
  if (stream.kind === 'connecting') return <span class="stream quiet">○ Connecting …</span>
  if (stream.kind === 'asleep') return <span class="stream quiet">○ Asleep</span>
  if (stream.kind === 'offline') {
    return <span class="stream alert">○ Disconnected at {clockSeconds(stream.since)}</span>
  }
  const rate = tick === null ? '' : ` ${count(Math.round(tick.perSecond))}/s`
  if (mode.kind === 'pinned') {
    const word = mode.paused ? 'Paused' : 'Holding'
    return (
      <span class="stream held">
        <span class="bars" aria-hidden="true" />
        {word} {age(Date.now() - mode.since)},{rate || ' 0/s'} arriving
      </span>
    )
  }
  if (mode.kind === 'relic') return <span class="stream alert">○ Rows of an earlier run</span>
  const isFiltered = state.place.q.trim() !== ''
  return (
    <span class="stream live">
      <span class="pulse" aria-hidden="true" />
      Live{rate}
      {tick !== null && isFiltered && `, ${count(Math.round(tick.matchedPerSecond))}/s match`}
      {tick !== null && tick.notDrawnPerSecond >= Math.max(minNotDrawn, tick.perSecond / 10) && (
        <span
          class="not-drawn"
          title="All of them are kept. The list shows the newest of each tenth of a second, and is complete as soon as you scroll or pause."
        >
          {' '}
          · {count(Math.round(tick.notDrawnPerSecond))}/s not drawn
        </span>
      )}
    </span>
  )
}
