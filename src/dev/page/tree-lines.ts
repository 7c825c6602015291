/** The lines of a tree that show. They are listed in a loop, so any depth is fine. */
import type { JsonNode } from './json-nodes.ts'

/** Children that come at a time. */
export const childrenStep = 200
/** Objects and arrays with at most so many children are open at first. */
const maxOpenChildren = 40
const maxOpenItems = 5
const maxOpenDepth = 4

export type Parent = Extract<JsonNode, { entries: unknown }>

export interface TreeLine {
  key: string
  depth: number
  /** The path as a query names it. Elements of an array have the path of the array. */
  path: string
  name: string
  node: JsonNode
  isOpen: boolean
  /** Children that are not shown yet, if this line stands for them. */
  more?: number
}

export function isParent(node: JsonNode): node is Parent {
  return node.kind === 'object' || node.kind === 'array'
}

function isOpenAtFirst(node: Parent, depth: number): boolean {
  if (depth > maxOpenDepth) return false
  return node.entries.length <= (node.kind === 'array' ? maxOpenItems : maxOpenChildren)
}

/** Lists the lines that show, from the first to the last. */
export function treeLines(
  root: Parent,
  opened: ReadonlyMap<string, boolean>,
  steps: ReadonlyMap<string, number>,
): TreeLine[] {
  const lines: TreeLine[] = []
  interface Open {
    parent: Parent
    key: string
    path: string
    next: number
  }
  const stack: Open[] = [{ parent: root, key: '', path: '', next: 0 }]
  while (true) {
    const top = stack.at(-1)
    if (top === undefined) return lines
    const { parent, key, path } = top
    const shown = Math.min((steps.get(key) ?? 1) * childrenStep, parent.entries.length)
    const entry = parent.entries[top.next]
    if (entry === undefined || top.next >= shown) {
      stack.pop()
      const more = parent.entries.length - shown
      if (more > 0) {
        lines.push({ key: `${key}/more`, depth: stack.length, path, name: '', node: parent, isOpen: false, more })
      }
      continue
    }
    const childKey = `${key}/${top.next}`
    top.next++
    const [name, node] = entry
    const childPath = parent.kind === 'array' ? path : path === '' ? String(name) : `${path}.${name}`
    const depth = stack.length - 1
    const isOpen = isParent(node) && (opened.get(childKey) ?? isOpenAtFirst(node, depth))
    lines.push({ key: childKey, depth, path: childPath, name: String(name), node, isOpen })
    if (isOpen && isParent(node)) stack.push({ parent: node, key: childKey, path: childPath, next: 0 })
  }
}
