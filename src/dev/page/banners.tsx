/** What the reader must know and may have missed: refusals, gaps, a lost connection, late events. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { age, count, duration, plural, timeOf } from './format.ts'
import { type Props, usePage } from './page-context.ts'
import { Go, Text } from './parts.tsx'
import type { Notice } from './state.ts'

export function Banners({ state }: Props) {
  return (
    <div class="banners">
      <Offline state={state} />
      {state.notices.map(notice => (
        <NoticeBar key={notice.kind} notice={notice} />
      ))}
    </div>
  )
}

function Offline({ state }: Props) {
  const { control } = usePage()
  const { stream } = state
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    if (stream.kind !== 'offline') return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [stream])
  if (stream.kind !== 'offline') return null
  const waitMs = stream.nextTryAt - now
  return (
    <Bar
      level="alert"
      actions={
        <button type="button" onClick={() => control.retryNow()}>
          Try now
        </button>
      }
    >
      ○ Disconnected for {age(now - stream.since)}
      {waitMs > 0 ? `, next try in ${Math.ceil(waitMs / 1000)} s` : ', trying'}. What the page has stays readable.
      {stream.reason !== '' && (
        <>
          {' '}
          <Text text={stream.reason} />
        </>
      )}
    </Bar>
  )
}

function NoticeBar({ notice }: { notice: Notice }) {
  const { control, actions } = usePage()
  const { store } = control
  const close = () => store.dismiss(notice.kind)
  switch (notice.kind) {
    case 'refused': {
      const of = notice.dataset === null ? '' : ` of ${notice.dataset}`
      return (
        <Bar
          level="warn"
          onClose={close}
          actions={
            <>
              <Go place={{ screen: 'requests', id: String(notice.request) }} class="button">
                Request
              </Go>
              {/license/i.test(notice.reason) && (
                <Go place={{ screen: 'faults', id: '' }} class="button">
                  Limits
                </Go>
              )}
              {/field/i.test(notice.reason) && (
                <Go place={{ screen: 'fields', id: notice.dataset ?? '' }} class="button">
                  Fields
                </Go>
              )}
            </>
          }
        >
          ▲ The service refused {notice.count > 0 ? plural(notice.count, 'event') : 'a request'}
          <Text text={of} />: <Text text={notice.reason} />
        </Bar>
      )
    }
    case 'back':
      return (
        <Bar level="good" onClose={close}>
          ● Back after {duration(notice.awayMs)}: {plural(notice.count, 'event')} arrived meanwhile and{' '}
          {notice.count === 1 ? 'is' : 'are'} below; {count(notice.forgotten)} {notice.forgotten === 1 ? 'was' : 'were'}{' '}
          forgotten.
        </Bar>
      )
    case 'slow':
      return (
        <Bar level="warn" onClose={close}>
          ▲ This page could not keep up: {plural(notice.count, 'event')} {notice.count === 1 ? 'was' : 'were'} not drawn
          {notice.forgotten > 0 &&
            `, and ${count(notice.forgotten)} of them ${notice.forgotten === 1 ? 'was' : 'were'} forgotten`}
          .
        </Bar>
      )
    case 'restarted':
      return (
        <Bar
          level="warn"
          actions={
            <>
              <button type="button" onClick={close}>
                Keep
              </button>
              <button type="button" onClick={() => control.follow()}>
                Clear
              </button>
              <button type="button" onClick={() => actions.exportRows()}>
                Export these
              </button>
            </>
          }
        >
          ▲ The service restarted. {plural(notice.rows, 'older row')} {notice.rows === 1 ? 'exists' : 'exist'} only on
          this page.
        </Bar>
      )
    case 'late':
      return (
        <Bar
          level="info"
          onClose={close}
          actions={
            <button type="button" onClick={() => void actions.showLate()}>
              Show
            </button>
          }
        >
          {plural(notice.count, 'late event')} inserted, {timeOf(notice.from)} – {timeOf(notice.to)}
        </Bar>
      )
    case 'deleted':
      return (
        <Bar level="info" onClose={close}>
          All events on the service were deleted.
        </Bar>
      )
    case 'failed':
      return (
        <Bar level="alert" onClose={close}>
          <Text text={notice.text} />
        </Bar>
      )
  }
}

interface BarProps {
  level: 'info' | 'good' | 'warn' | 'alert'
  children: ComponentChildren
  actions?: ComponentChildren
  onClose?: () => void
}

function Bar({ level, children, actions, onClose }: BarProps) {
  return (
    <div class={`banner ${level}`}>
      <p>{children}</p>
      <span class="banner-actions">
        {actions}
        {onClose !== undefined && (
          <button type="button" class="remove" aria-label="Dismiss" title="Dismiss" onClick={onClose}>
            ✕
          </button>
        )}
      </span>
    </div>
  )
}
