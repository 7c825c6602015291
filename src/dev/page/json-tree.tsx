/**
 * An event as a tree. The lines that show are made from the nodes in a loop, so any depth is fine; children come 200 at
 * a time and long texts 64 KB at a time.
 */
import { useRef, useState } from 'preact/hooks'
import { saveText } from './clipboard.ts'
import { bytes, count } from './format.ts'
import { copyOf, type JsonNode } from './json-nodes.ts'
import { usePage } from './page-context.ts'
import { Text } from './parts.tsx'
import { isStack } from './stack-parts.ts'
import { StackTrace } from './stack-trace.tsx'
import { childrenStep, isParent, type Parent, type TreeLine, treeLines } from './tree-lines.ts'

const firstChars = 2000
const charsStep = 64 * 1024
/** Deeper lines are not indented further. */
const maxIndent = 24
export function JsonTree({ root, highlight }: { root: Parent; highlight: RegExp | null }) {
  const { actions, control } = usePage()
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [steps, setSteps] = useState<ReadonlyMap<string, number>>(new Map())
  const [active, setActive] = useState('')
  const [hovered, setHovered] = useState('')
  const tree = useRef<HTMLDivElement>(null)
  const lines = treeLines(root, opened, steps)
  const current = lines.some(({ key }) => key === active) ? active : (lines[0]?.key ?? '')

  const toggle = ({ key, node, isOpen, more }: TreeLine) => {
    if (more !== undefined) {
      const parent = key.slice(0, -'/more'.length)
      setSteps(new Map(steps).set(parent, (steps.get(parent) ?? 1) + 1))
    } else if (isParent(node)) {
      setOpened(new Map(opened).set(key, !isOpen))
    }
  }

  const focus = (line: TreeLine | undefined) => {
    if (line === undefined) return
    setActive(line.key)
    const element = tree.current?.querySelector<HTMLElement>(`[data-key="${line.key}"]`)
    element?.focus()
  }

  const openMenu = (line: TreeLine, element: Element | null) => {
    if (isParent(line.node) || element === null) return
    const { left, bottom } = element.getBoundingClientRect()
    control.store.set({ menu: { path: line.path, value: valueText(line.node), left: left + 24, top: bottom } })
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const at = lines.findIndex(({ key }) => key === current)
    const line = lines[at]
    if (line === undefined) return
    const parentKey = line.key.slice(0, line.key.lastIndexOf('/'))
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => focus(lines[at + 1]),
      ArrowUp: () => focus(lines[at - 1]),
      Home: () => focus(lines[0]),
      End: () => focus(lines.at(-1)),
      ArrowRight: () => (line.isOpen || !isParent(line.node) ? focus(lines[at + 1]) : toggle(line)),
      ArrowLeft: () => (line.isOpen ? toggle(line) : focus(lines.find(({ key }) => key === parentKey))),
      Enter: () => (isParent(line.node) ? toggle(line) : openMenu(line, document.activeElement)),
      ' ': () => toggle(line),
      ...(!isParent(line.node) && {
        f: () => void actions.only(line.path, valueText(line.node)),
        x: () => void actions.exclude(line.path, valueText(line.node)),
        y: () => void actions.copy(copyOf(line.node), 'Value copied.'),
      }),
    }
    if (!Object.hasOwn(keys, event.key)) return
    event.preventDefault()
    event.stopPropagation()
    keys[event.key]?.()
  }

  return (
    <div
      ref={tree}
      role="tree"
      aria-label="Fields of the event"
      class="tree"
      onKeyDown={onKeyDown}
      onPointerLeave={() => setHovered('')}
    >
      {lines.map(line => (
        <TreeItem
          key={line.key}
          line={line}
          isCurrent={line.key === current}
          showsActions={line.key === hovered || (line.key === current && active !== '')}
          highlight={highlight}
          onToggle={() => toggle(line)}
          onFocus={() => setActive(line.key)}
          onHover={() => setHovered(line.key)}
        />
      ))}
    </div>
  )
}

interface TreeItemProps {
  line: TreeLine
  isCurrent: boolean
  showsActions: boolean
  highlight: RegExp | null
  onToggle: () => void
  onFocus: () => void
  onHover: () => void
}

function TreeItem({ line, isCurrent, showsActions, highlight, onToggle, onFocus, onHover }: TreeItemProps) {
  const { node, depth, name, isOpen, more } = line
  const indent = `${Math.min(depth, maxIndent) * 16}px`
  const canOpen = isParent(node) && more === undefined
  return (
    <div
      role="treeitem"
      data-key={line.key}
      class={more === undefined ? 'tree-line' : 'tree-line more'}
      tabIndex={isCurrent ? 0 : -1}
      aria-level={depth + 1}
      aria-expanded={canOpen ? isOpen : undefined}
      aria-selected={isCurrent}
      style={{ paddingLeft: indent }}
      onFocus={onFocus}
      onPointerEnter={onHover}
      onClick={event => {
        if (event.target instanceof Element && event.target.closest('button') === null) {
          if (canOpen || more !== undefined) onToggle()
        }
      }}
    >
      <span class="tree-mark" aria-hidden="true">
        {canOpen ? (isOpen ? '▾' : '▸') : ''}
      </span>
      {more !== undefined ? (
        <span class="tree-more">
          show the next {count(Math.min(more, childrenStep))} of {count(more)} more
        </span>
      ) : (
        <>
          <span class="tree-name">
            <Text text={name} />
          </span>
          <span class="tree-value">
            <TreeValue node={node} isOpen={isOpen} highlight={highlight} name={name} />
          </span>
          {showsActions && !isParent(node) && <LineActions line={line} />}
        </>
      )}
    </div>
  )
}

function LineActions({ line }: { line: TreeLine }) {
  const { actions } = usePage()
  const { path, node } = line
  const value = valueText(node)
  return (
    <span class="tree-actions">
      <button type="button" tabIndex={-1} title="Only this value (f)" onClick={() => void actions.only(path, value)}>
        only
      </button>
      <button
        type="button"
        tabIndex={-1}
        title="Exclude this value (x)"
        onClick={() => void actions.exclude(path, value)}
      >
        not
      </button>
      <button type="button" tabIndex={-1} title="Show as a column" onClick={() => actions.toggleColumn(path)}>
        column
      </button>
      <button
        type="button"
        tabIndex={-1}
        title="Copy this value (y)"
        onClick={() => void actions.copy(copyOf(node), 'Value copied.')}
      >
        copy
      </button>
    </span>
  )
}

interface TreeValueProps {
  node: JsonNode
  isOpen: boolean
  highlight: RegExp | null
  name: string
}

function TreeValue({ node, isOpen, highlight, name }: TreeValueProps) {
  if (node.kind === 'object') {
    return (
      <span class="quiet">{isOpen ? '' : `{ ${node.entries.length === 0 ? '' : count(node.entries.length)} }`}</span>
    )
  }
  if (node.kind === 'array') {
    return (
      <span class="quiet">{isOpen ? '' : `[ ${node.entries.length === 0 ? '' : count(node.entries.length)} ]`}</span>
    )
  }
  if (node.kind !== 'string') return <span class={`json-${node.kind}`}>{node.text}</span>
  if (isStack(node.text) && node.text.length <= charsStep) return <StackTrace text={node.text} />
  return <LongText text={node.text} highlight={highlight} name={name} />
}

/** A text, a part at a time if it is long. */
export function LongText({ text, highlight, name }: { text: string; highlight: RegExp | null; name: string }) {
  const [shown, setShown] = useState(firstChars)
  if (text.length <= shown) {
    return (
      <span class="string">
        <Text text={text} lines highlight={highlight} />
      </span>
    )
  }
  const next = Math.min(charsStep, text.length - shown)
  return (
    <span class="string">
      <Text text={text.slice(0, shown)} lines highlight={highlight} />
      <span class="text-steps">
        … {bytes(text.length - shown)} more
        <button type="button" class="link" onClick={() => setShown(shown + next)}>
          Next {bytes(next)}
        </button>
        <button type="button" class="link" onClick={() => saveText(`${fileName(name)}.txt`, 'text/plain', text)}>
          Download
        </button>
      </span>
    </span>
  )
}

function fileName(name: string): string {
  return name.replace(/[^\w.-]+/g, '_').slice(0, 60) || 'value'
}

/** The value as a query names it: JSON text. */
function valueText(node: JsonNode): string {
  return node.kind === 'string' ? JSON.stringify(node.text) : isParent(node) ? '' : node.text
}
