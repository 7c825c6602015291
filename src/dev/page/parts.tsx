/** Small parts that several components share. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Level } from '../protocol.ts'
import { levelMarks } from './levels.ts'
import { usePage } from './page-context.ts'
import { addressOf, type Place } from './place.ts'
import { classesOf } from './show-text.ts'
import { isPlain, type VisibleOptions, visiblePieces } from './visible-text.ts'

/** Text from outside. Nothing in it is obeyed, and nothing in it is invisible. */
export function Text({ text, ...options }: VisibleOptions & { text: string }) {
  if (isPlain(text) && !options.highlight) return <bdi>{text}</bdi>
  return (
    <bdi>
      {visiblePieces(text, options).map((piece, at) => {
        const classes = classesOf(piece)
        if (classes === '') return piece.text
        const Tag = piece.match ? 'mark' : 'span'
        return (
          <Tag key={at} class={classes} title={piece.title}>
            {piece.text}
          </Tag>
        )
      })}
    </bdi>
  )
}

export function LevelLabel({ level, text }: { level: Level | null; text?: string | undefined }) {
  return (
    <span class={`level-label ${level ?? ''}`}>
      <span class="mark" aria-hidden="true">
        {level === null ? '' : levelMarks[level]}
      </span>
      <span class="word">
        <Text text={text ?? level ?? 'no level'} />
      </span>
    </span>
  )
}

interface GoProps {
  place: Partial<Place>
  children: ComponentChildren
  class?: string
  title?: string
  current?: boolean
  label?: string
}

/** A link to another place of the page: it can be opened in a second tab. */
export function Go({ place, children, title, current, label, class: className }: GoProps) {
  const { control } = usePage()
  const target = { ...control.store.state.place, ...place }
  return (
    <a
      href={addressOf(target)}
      class={className}
      title={title}
      aria-label={label}
      aria-current={current ? 'page' : undefined}
      onClick={event => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return
        event.preventDefault()
        control.visit(place)
      }}
    >
      {children}
    </a>
  )
}

interface DropdownProps {
  label: ComponentChildren
  title?: string
  align?: 'left' | 'right'
  children: ComponentChildren
}

/** A button that opens a panel below it. Closes with Escape, or by a click elsewhere. */
export function Dropdown({ label, title, align = 'right', children }: DropdownProps) {
  const details = useRef<HTMLDetailsElement>(null)
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const close = (event: Event) => {
      if (event.target instanceof Node && details.current?.contains(event.target)) return
      if (details.current) details.current.open = false
    }
    document.addEventListener('pointerdown', close)
    document.addEventListener('focusin', close)
    return () => {
      document.removeEventListener('pointerdown', close)
      document.removeEventListener('focusin', close)
    }
  }, [])
  return (
    <details
      ref={details}
      class={`dropdown ${align}`}
      onToggle={event => setOpen(event.currentTarget.open)}
      onKeyDown={event => {
        if (event.key !== 'Escape' || !details.current?.open) return
        event.preventDefault()
        details.current.open = false
        details.current.querySelector('summary')?.focus()
      }}
    >
      <summary class="button" title={title}>
        {label}
        <span class="caret" aria-hidden="true" />
      </summary>
      {isOpen && <div class="dropdown-panel">{children}</div>}
    </details>
  )
}

/** A part of a whole as a bar. The number stands beside it. */
export function Bar({ share, class: className = '' }: { share: number; class?: string }) {
  const width = `${Math.min(Math.max(share, 0), 1) * 100}%`
  return (
    <span class={`bar ${className}`} aria-hidden="true">
      <span style={{ width }} />
    </span>
  )
}

/** A screen that has nothing to show yet, or could not load. */
export function Plain({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="plain">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
