import type { QueryNode } from './query-node.ts'
import { isVirtualField } from './virtual-fields.ts'

/** The names of fields that events have. */
export interface FieldNames {
  /** True if there are more fields than are known. */
  readonly isFull?: boolean
  has(path: string): boolean
  /** Returns the paths that end in a dot and the name, at most two of them. */
  endingWith(name: string): string[]
}

export interface KnownFields extends FieldNames {
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
export function isFieldName(name: string, fields: FieldNames): boolean {
  return name === 'message' || isVirtualField(name) || pathOf(name, fields) !== undefined
}

/** Returns the path of a field that a name stands for: the name itself, or the only path that ends so. */
export function pathOf(name: string, fields: FieldNames): string | undefined {
  if (fields.has(name)) return name
  const [path, other] = fields.endingWith(name)
  return other === undefined ? path : undefined
}

/** Replaces each name that no event has, but that ends exactly one known path, by this path: `status`, `http.status`. */
export function resolveNames(node: QueryNode, fields: FieldNames): ResolvedQuery {
  const unknown = new Set<string>()
  let isChanged = false
  const resolved = (name: string): string => {
    if (name === 'message' || isVirtualField(name)) return name
    const path = pathOf(name, fields)
    // `trace_id` finds ids in other fields as well.
    if (path === undefined && fields.isFull !== true && name !== 'trace_id') unknown.add(name)
    isChanged ||= path !== undefined && path !== name
    return path ?? name
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
