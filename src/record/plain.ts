/** Data that `JSON.stringify` reproduces in full. */
export type Plain = string | number | boolean | null | Plain[] | PlainObject

export interface PlainObject {
  [name: string]: Plain
}

export function isPlainObject(value: Plain): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Replacement for NaN and the infinities: `null`, as `JSON.stringify` writes them, or a text, as OpenTelemetry writes
 * them.
 */
export type NonFinite = 'null' | 'text'

/** Maximum nesting depth of containers. Deeper containers become a stub. */
export const maxDepth = 64

/** An event copied into plain data. */
export interface PlainCopy {
  readonly fields: PlainObject
  /** False if members were left out. The event is then still to be marked as cut. */
  readonly isWhole: boolean
}
