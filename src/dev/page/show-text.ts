/** Puts text from outside into an element: as text nodes, and as elements of a few fixed kinds around them. */
import { isPlain, type Piece, type VisibleOptions, visiblePieces } from './visible-text.ts'

export function classesOf({ kind, color, bold, match }: Piece): string {
  const classes = []
  if (kind === 'label') classes.push('unseen')
  if (color !== undefined) classes.push(`ansi-${color}`)
  if (bold) classes.push('bold')
  if (match) classes.push('match')
  return classes.join(' ')
}

/** Replaces what the element shows. Text that needs no marks becomes the one text node that the element has. */
export function showText(element: Element, text: string, options: VisibleOptions): void {
  const pieces = isPlain(text) && !options.highlight ? undefined : visiblePieces(text, options)
  if (pieces === undefined || (pieces.length === 1 && pieces[0] && classesOf(pieces[0]) === '')) {
    const only = element.firstChild
    if (only instanceof Text && only.nextSibling === null) {
      if (only.data !== text) only.data = text
    } else {
      element.textContent = text
    }
    return
  }
  element.replaceChildren(...pieces.map(nodeOf))
}

function nodeOf(piece: Piece): Node {
  const classes = classesOf(piece)
  if (classes === '') return document.createTextNode(piece.text)
  const element = document.createElement(piece.match ? 'mark' : 'span')
  element.className = classes
  element.textContent = piece.text
  if (piece.title !== undefined) element.title = piece.title
  return element
}
