/** Data that `JSON.stringify` reproduces in full. */
export type Plain = string | number | boolean | null | Plain[] | PlainObject

export interface PlainObject {
  [name: string]: Plain
}

export function isPlainObject(value: Plain): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Containers nested deeper than this become a stub. */
export const maxDepth = 64
