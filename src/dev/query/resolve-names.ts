import type { QueryNode } from './query-node.ts'
import { isVirtualField } from './virtual-fields.ts'

/** The names of fields that events have. */
export interface KnownFields {
  /** True if there are more fields than are known. */
  readonly isFull?: boolean
  has(path: string): boolean
  /** Returns the paths that end in a dot and the name, at most two of them. */
  endingWith(name: string): string[]
  /** Returns the path that is most like a name, if one is like it. */
  similarTo(name: string): string | undefined
}

export interface ResolvedQuery {
  readonly node: QueryNode
  /** True if a name was replaced by a longer path. */
  readonly isChanged: boolean
  /** Names that no event has. */
  readonly unknown: readonly string[]
}

/** True for the name of a field that events have, or the end of exactly one path. */
export function isFieldName(name: string, fields: KnownFields): boolean {
  return name === 'message' || isVirtualField(name) || fields.has(name) || fields.endingWith(name).length === 1
}

/** Replaces each name that no event has, but that ends exactly one known path, by this path: `status`, `http.status`. */
export function resolveNames(node: QueryNode, fields: KnownFields): ResolvedQuery {
  const unknown = new Set<string>()
  let isChanged = false
  const resolved = (name: string): string => {
    if (name === 'message' || isVirtualField(name) || fields.has(name)) return name
    const [path, other] = fields.endingWith(name)
    if (path === undefined || other !== undefined) {
      if (fields.isFull !== true) unknown.add(name)
      return name
    }
    isChanged = true
    return path
  }
  const visit = (visited: QueryNode): QueryNode => {
    switch (visited.kind) {
      case 'all':
        return visited
      case 'not':
        return { ...visited, node: visit(visited.node) }
      case 'term':
        return visited.field === null ? visited : { ...visited, field: resolved(visited.field) }
      default:
        return { ...visited, nodes: visited.nodes.map(visit) }
    }
  }
  return { node: visit(node), isChanged, unknown: [...unknown] }
}
