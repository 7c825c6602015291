/** A button beside text that the reader has selected: it searches for the text. */
import { useEffect, useState } from 'preact/hooks'
import { usePage } from './page-context.ts'

interface Selected {
  text: string
  left: number
  top: number
}

const maxChars = 200
/** Places whose text comes from events. */
const places = '#list, .detail-panel, .event-screen, .screen table'

export function SearchSelection() {
  const { actions } = usePage()
  const [selected, setSelected] = useState<Selected | null>(null)
  useEffect(() => {
    const onRelease = () => setSelected(selectedText())
    const onChange = () => {
      if (document.getSelection()?.isCollapsed !== false) setSelected(null)
    }
    document.addEventListener('pointerup', onRelease)
    document.addEventListener('selectionchange', onChange)
    return () => {
      document.removeEventListener('pointerup', onRelease)
      document.removeEventListener('selectionchange', onChange)
    }
  }, [])
  if (selected === null) return null
  return (
    <button
      type="button"
      class="search-selection"
      style={{ left: `${selected.left}px`, top: `${selected.top}px` }}
      onPointerDown={event => event.preventDefault()} // Keeps the selection until the click.
      onClick={() => {
        document.getSelection()?.removeAllRanges()
        setSelected(null)
        void actions.edit({ kind: 'text', text: selected.text })
      }}
    >
      Search this
    </button>
  )
}

function selectedText(): Selected | null {
  const selection = document.getSelection()
  const text = selection?.toString().trim() ?? ''
  if (selection === null || selection.rangeCount === 0 || text === '' || text.length > maxChars) return null
  const range = selection.getRangeAt(0)
  const { commonAncestorContainer: node } = range
  const element = node instanceof Element ? node : node.parentElement
  if (element?.closest(places) == null) return null
  const { right, top } = range.getBoundingClientRect()
  return { text, left: Math.min(right + 6, window.innerWidth - 110), top: Math.max(top - 32, 4) }
}
