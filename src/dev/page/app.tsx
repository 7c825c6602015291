/** The whole page. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Screen } from '../protocol.ts'
import { Announce } from './announce.tsx'
import { Banners } from './banners.tsx'
import { Chips } from './chips.tsx'
import { CostScreen } from './cost-tab.tsx'
import { Dialogs } from './dialogs.tsx'
import { EventScreen } from './event-detail.tsx'
import { EventsScreen } from './events-screen.tsx'
import { FaultsScreen } from './faults-tab.tsx'
import { FieldsScreen } from './fields-tab.tsx'
import { GroupsScreen } from './groups-tab.tsx'
import { type Page, PageContext, type Props, usePage } from './page-context.ts'
import { QueryBox } from './query-box.tsx'
import { RequestsScreen } from './requests-tab.tsx'
import { SearchSelection } from './search-selection.tsx'
import { Toolbar } from './toolbar.tsx'
import { TopBar } from './top-bar.tsx'
import { TraceScreen } from './trace-tab.tsx'
import { ValueMenu } from './value-menu.tsx'

const components: Readonly<Record<Screen, (props: Props) => JSX.Element>> = {
  events: EventsScreen,
  groups: GroupsScreen,
  trace: TraceScreen,
  event: EventScreen,
  requests: RequestsScreen,
  fields: FieldsScreen,
  cost: CostScreen,
  faults: FaultsScreen,
}

export function App({ page }: { page: Page }) {
  const [state, setState] = useState(page.control.store.state)
  useEffect(() => page.control.store.subscribe(setState), [page])
  const { theme } = state.settings
  useEffect(() => {
    document.documentElement.dataset.theme = theme
  }, [theme])
  const CurrentScreen = components[state.place.screen]
  return (
    <PageContext.Provider value={page}>
      <button type="button" class="skip" onClick={skipToContent}>
        Skip to the content
      </button>
      <TopBar state={state} />
      <section class="query-bar" aria-label="Query">
        <QueryBox state={state} />
        <Toolbar state={state} />
        <Chips state={state} />
      </section>
      <CurrentScreen state={state} />
      <ValueMenu state={state} />
      <SearchSelection />
      <Dialogs state={state} />
      {/* Over the content and not above it: what comes here must not move the row that is being read. */}
      <section class="overlay" aria-label="Notices">
        <Toast state={state} />
        <Banners state={state} />
      </section>
      <Announce state={state} />
    </PageContext.Provider>
  )
}

function skipToContent(): void {
  const target = document.getElementById('list') ?? document.getElementById('main')
  if (target === null) return
  if (!target.hasAttribute('tabindex')) target.tabIndex = -1
  target.focus()
}

function Toast({ state }: Props) {
  const { control } = usePage()
  const { toast } = state
  return (
    <div class="toast-place" role="status">
      {toast !== null && (
        <div class="toast">
          {toast.text}
          {toast.undo !== undefined && (
            <button
              type="button"
              onClick={() => {
                toast.undo?.()
                control.store.set({ toast: null })
              }}
            >
              Undo
            </button>
          )}
        </div>
      )}
    </div>
  )
}
