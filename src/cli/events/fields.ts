/** A value of an event that is no object, by its path. Arrays count as one value. */
export interface Field {
  readonly path: string
  readonly value: unknown
}

/** A number whose digits JavaScript cannot hold: it is shown as it was written. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return rawJson(this.text)
  }
}

/** Makes JSON of a number from its text. The compiler does not know the function of the language yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown }

/**
 * Maximum number of fields that are held of an event, and maximum depth and length of the path at which the members of an
 * object are separate fields.
 */
const maxFields = 1000
const maxDepth = 16
const maxParentChars = 1000
/** Maximum depth to which a value is written as JSON, and maximum entries of an object or array in it. */
const maxWrittenDepth = 4
const maxEntries = 100

/** Returns the event in a line of JSON; `undefined` if the line is no object. */
export function parseEvent(line: string): object | undefined {
  try {
    const event: unknown = hasLongNumber.test(line) ? parseExactly(line) : JSON.parse(line)
    return typeof event === 'object' && event !== null && !Array.isArray(event) ? event : undefined
  } catch {
    return undefined
  }
}

const hasLongNumber = /\d{16}|[eE][+-]?\d/

function parseExactly(line: string): unknown {
  try {
    return JSON.parse(line, exactNumber)
  } catch (error) {
    if (error instanceof RangeError) return JSON.parse(line) // too deep for a function at each value
    throw error
  }
}

/** Keeps a number as text if the number would be written in another way. */
function exactNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && String(value) !== source ? new ExactNumber(source) : value
}

/** Returns the fields of an event in their order, with dotted paths. Fields beyond the maximum are left out. */
export function fieldsOf(event: object): Field[] {
  const fields: Field[] = []
  for (const field of eachField(event)) {
    if (fields.length === maxFields) break
    fields.push(field)
  }
  return fields
}

/** Yields all fields of an event in their order, with dotted paths. */
export function* eachField(event: object): Generator<Field> {
  const open = [{ path: '', entries: Object.entries(event), next: 0 }]
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const entry = level.entries[level.next++]
    if (entry === undefined) {
      open.pop()
      continue
    }
    const path = level.path === '' ? entry[0] : `${level.path}.${entry[0]}`
    const value: unknown = entry[1]
    if (isNested(value) && open.length < maxDepth && path.length <= maxParentChars)
      open.push({ path, entries: Object.entries(value), next: 0 })
    else yield { path, value }
  }
}

function isNested(value: unknown): value is object {
  const isObject =
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  return isObject && Object.keys(value).length > 0
}

/**
 * Returns the value at a dotted path; `undefined` if the event has none. A name with dots in it is found as well: the
 * longest name that fits counts.
 */
export function valueAt(event: object, path: string): unknown {
  const parts = path.split('.')
  let value: unknown = event
  for (let at = 0; at < parts.length; ) {
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return undefined
    let end = parts.length
    while (end > at && !Object.hasOwn(value, parts.slice(at, end).join('.'))) end--
    if (end === at) return undefined
    value = Reflect.get(value, parts.slice(at, end).join('.'))
    at = end
  }
  return value
}

/** Writes a value as JSON of about `maxChars` characters at most. Deep and long parts become `…`. */
export function toBriefJson(value: unknown, maxChars: number): string {
  return briefJson(value, maxChars).text
}

/** Does the same, and tells if parts have become `…`. */
export function briefJson(value: unknown, maxChars: number): { readonly text: string; readonly isCut: boolean } {
  let left = maxChars
  let isCut = false
  return { text: write(value, 0), isCut }

  function write(part: unknown, depth: number): string {
    if (left <= 0) return cut('…')
    if (part instanceof ExactNumber) return taken(part.text)
    if (typeof part === 'string')
      return part.length > left ? cut(JSON.stringify(`${part.slice(0, left)}…`)) : taken(JSON.stringify(part))
    if (typeof part !== 'object' || part === null) return taken(String(part))
    const isList = Array.isArray(part)
    const entries = isList ? part : Object.entries(part)
    if (depth >= maxWrittenDepth && entries.length > 0) return cut(isList ? '[…]' : '{…}')
    const written: string[] = []
    for (const entry of entries.slice(0, maxEntries)) {
      if (left <= 0) break
      written.push(isList ? write(entry, depth + 1) : `${write(entry[0], depth + 1)}:${write(entry[1], depth + 1)}`)
    }
    if (written.length < entries.length) written.push(cut('…'))
    return isList ? `[${written.join(',')}]` : `{${written.join(',')}}`
  }

  function cut(text: string): string {
    isCut = true
    return taken(text)
  }

  function taken(text: string): string {
    left -= text.length
    return text
  }
}
