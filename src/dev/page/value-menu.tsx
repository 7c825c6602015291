/** What can be done with one value. */
import { useEffect, useRef } from 'preact/hooks'
import { cellText } from './columns.ts'
import { type Props, usePage } from './page-context.ts'
import { Text } from './parts.tsx'

const width = 220
const height = 210

export function ValueMenu({ state }: Props) {
  const { control, actions } = usePage()
  const { menu } = state
  const element = useRef<HTMLDivElement>(null)
  const returnTo = useRef<Element | null>(null)

  useEffect(() => {
    if (menu === null) return
    returnTo.current = document.activeElement
    element.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus()
    const close = (event: PointerEvent) => {
      if (event.target instanceof Node && element.current?.contains(event.target)) return
      control.store.set({ menu: null })
    }
    document.addEventListener('pointerdown', close)
    return () => document.removeEventListener('pointerdown', close)
  }, [menu, control])

  if (menu === null) return null
  const { path, value } = menu
  const close = () => {
    control.store.set({ menu: null })
    if (returnTo.current instanceof HTMLElement) returnTo.current.focus()
  }
  const items: readonly [label: string, run: () => void][] = [
    ['Only this value', () => void actions.only(path, value)],
    ['Exclude this value', () => void actions.exclude(path, value)],
    ['Or this value', () => void actions.or(path, value)],
    ['Show as a column', () => actions.toggleColumn(path)],
    ['Copy', () => void actions.copyValue(menu)],
  ]
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(element.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])]
    const at = buttons.indexOf(document.activeElement as HTMLElement)
    if (event.key === 'Escape' || event.key === 'Tab') close()
    else if (event.key === 'ArrowDown') buttons[(at + 1) % buttons.length]?.focus()
    else if (event.key === 'ArrowUp') buttons[(at - 1 + buttons.length) % buttons.length]?.focus()
    else if (event.key === 'Home') buttons[0]?.focus()
    else if (event.key === 'End') buttons.at(-1)?.focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const left = `${Math.max(Math.min(menu.left, window.innerWidth - width - 8), 8)}px`
  const top = `${Math.max(Math.min(menu.top, window.innerHeight - height - 8), 8)}px`
  return (
    <div ref={element} class="value-menu" style={{ left, top }} onKeyDown={onKeyDown} role="presentation">
      <p class="menu-value">
        <b>
          <Text text={path} />
        </b>{' '}
        <Text text={cellText(value).slice(0, 80)} />
      </p>
      <div role="menu" aria-label={`Value of ${path}`}>
        {items.map(([label, run]) => (
          <button
            key={label}
            type="button"
            role="menuitem"
            tabIndex={-1}
            onClick={() => {
              close()
              run()
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </div>
  )
}
