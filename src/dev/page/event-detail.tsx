/** One event, whole: beside the list, or as a page of its own. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EventDetail } from '../protocol.ts'
import { bytes, clockTime, day, duration } from './format.ts'
import { escapeUnseen, type JsonNode, jsonText, nodeAt } from './json-nodes.ts'
import { JsonTree, LongText } from './json-tree.tsx'
import { type Page, type Props, usePage } from './page-context.ts'
import { Go, LevelLabel, Plain, Text } from './parts.tsx'
import { isStack } from './stack-parts.ts'
import { StackTrace } from './stack-trace.tsx'
import { isParent } from './tree-lines.ts'
import { highlightOf } from './visible-text.ts'

const minWidth = 320
const widthStep = 32

type View = 'tree' | 'json' | 'raw'

/** The panel beside the list. */
export function DetailPanel({ state }: Props) {
  const { control } = usePage()
  const { detail, settings, place } = state
  const panel = useRef<HTMLElement>(null)
  if (detail.kind === 'none' || place.sel === 0) return null
  const setWidth = (width: number) => {
    const panelWidth = Math.round(Math.min(Math.max(width, minWidth), window.innerWidth - 360))
    control.saveSettings({ ...control.store.state.settings, panelWidth })
  }
  return (
    <aside
      ref={panel}
      class="detail-panel"
      aria-label="Event"
      data-region="event"
      style={{ '--panel-width': `${settings.panelWidth}px` }}
    >
      <div
        class="resizer"
        role="separator"
        aria-orientation="vertical"
        aria-label="Width of the panel"
        aria-valuenow={settings.panelWidth}
        aria-valuemin={minWidth}
        aria-valuemax={1200}
        tabIndex={0}
        onKeyDown={event => {
          if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
          event.preventDefault()
          event.stopPropagation()
          setWidth(settings.panelWidth + (event.key === 'ArrowLeft' ? widthStep : -widthStep))
        }}
        onPointerDown={event => {
          event.preventDefault()
          const handle = event.currentTarget
          handle.setPointerCapture(event.pointerId)
          const move = (moved: PointerEvent) => setWidth(window.innerWidth - moved.clientX)
          handle.addEventListener('pointermove', move)
          handle.addEventListener('pointerup', () => handle.removeEventListener('pointermove', move), { once: true })
        }}
      />
      <DetailBody state={state} onClose={() => closePanel(control)} />
    </aside>
  )
}

/** Closing returns the focus to the list, where the row still has the cursor. */
function closePanel(control: Page['control']): void {
  control.visit({ sel: 0 })
  document.getElementById('list')?.focus()
}

/** The event as a page of its own. */
export function EventScreen({ state }: Props) {
  return (
    <main class="screen event-screen" id="main">
      <h1 class="off-screen">Event</h1>
      <DetailBody state={state} />
    </main>
  )
}

function DetailBody({ state, onClose }: Props & { onClose?: () => void }) {
  const { detail } = state
  if (detail.kind === 'none') return <Plain title="No event is open." />
  if (detail.kind === 'loading') return <Plain title="Loading …" />
  if (detail.kind === 'failed') {
    return (
      <Plain title="This event cannot be shown.">
        <p>
          <Text text={detail.message} />
        </p>
        {onClose !== undefined && (
          <button type="button" onClick={onClose}>
            Close <kbd>Esc</kbd>
          </button>
        )}
      </Plain>
    )
  }
  return <Detail key={detail.id} event={detail.event} node={detail.node} state={state} onClose={onClose} />
}

interface DetailProps extends Props {
  event: EventDetail
  node: JsonNode | undefined
  onClose: (() => void) | undefined
}

function Detail({ event, node, state, onClose }: DetailProps) {
  const { actions } = usePage()
  const [view, setView] = useState<View>('tree')
  const body = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (body.current) body.current.scrollTop = 0
  }, [view])
  const highlight = highlightOf(state.reading.highlight)
  const stack = node === undefined ? undefined : stackOf(node)
  return (
    <>
      <header class={`detail-head ${event.level ?? ''}`}>
        <LevelLabel level={event.level} />
        <h2>
          <LongText text={event.message === '' ? '(no message)' : event.message} highlight={highlight} name="message" />
        </h2>
        {onClose !== undefined && (
          <button type="button" class="icon" aria-label="Close the event" title="Close (Esc)" onClick={onClose}>
            ✕
          </button>
        )}
      </header>
      <DetailFacts event={event} />
      <div class="detail-bar">
        <div class="segments" role="group" aria-label="Show the event as">
          {(['tree', 'json', 'raw'] as const).map(one => (
            <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
              {one === 'tree' ? 'Tree' : one === 'json' ? 'JSON' : 'Raw line'}
            </button>
          ))}
        </div>
        <button type="button" onClick={() => void actions.copy(escapeUnseen(event.line), 'JSON copied.')}>
          Copy <kbd>y</kbd>
        </button>
        <button type="button" onClick={() => void actions.copyLink()}>
          Link <kbd>Y</kbd>
        </button>
        {event.traceId !== null && (
          <button type="button" onClick={() => actions.showTrace(event.traceId)}>
            Trace <kbd>t</kbd>
          </button>
        )}
        <button type="button" onClick={() => actions.showContext(event.at, event.n)}>
          Context <kbd>v</kbd>
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys. */}
      <div class="detail-body" ref={body} tabIndex={0} role="region" aria-label="Content of the event">
        {view === 'tree' && stack !== undefined && (
          <section class="detail-stack" aria-label="Stack">
            <StackTrace text={stack} />
          </section>
        )}
        {view === 'tree' &&
          (node !== undefined && isParent(node) ? (
            <JsonTree root={node} highlight={highlight} />
          ) : (
            <p class="quiet">The line is no JSON object. It shows under Raw line.</p>
          ))}
        {view === 'json' && (
          <pre>
            <LongText text={node === undefined ? event.line : jsonText(node)} highlight={highlight} name="event.json" />
          </pre>
        )}
        {view === 'raw' && (
          <pre>
            <LongText text={event.line} highlight={highlight} name="event" />
          </pre>
        )}
      </div>
    </>
  )
}

/** The stack of the event's error, if it has one. */
function stackOf(node: JsonNode): string | undefined {
  for (const path of ['error.stack', 'err.stack', 'stack', 'exception.stacktrace', 'attributes.exception.stacktrace']) {
    const found = nodeAt(node, path)
    if (found?.kind === 'string' && isStack(found.text)) return found.text
  }
  return undefined
}

function DetailFacts({ event }: { event: EventDetail }) {
  const { at, receivedAt, time, dataset, source, request, badges, skewMs, id } = event
  const delay = receivedAt - at
  return (
    <p class="detail-facts">
      <span title={`${day(at)} ${clockTime(at)}`}>
        <Text text={time ?? `${day(at)} ${clockTime(at)}`} />
      </span>
      <span>
        received {delay >= 0 ? '+' : ''}
        {duration(delay)}
      </span>
      <span>
        dataset <Text text={dataset} />
      </span>
      {source !== null && (
        <span>
          source <Text text={source} />
        </span>
      )}
      {request !== null && (
        <Go place={{ screen: 'requests', id: String(request) }} title="The request that brought it">
          request #{request}
        </Go>
      )}
      <span>{bytes(event.bytes)}</span>
      {badges.map(badge => (
        <span key={badge} class="badge">
          {badge}
          {skewMs !== undefined && (badge === 'late' || badge === 'clock') && ` ${duration(skewMs)}`}
        </span>
      ))}
      <Go place={{ screen: 'event', id, time: time ?? '' }} title="The event as a page of its own">
        open as a page
      </Go>
    </p>
  )
}
