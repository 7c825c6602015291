import { toVisibleText } from '../../text/visible-text.ts'
import { ExactNumber, fieldsOf, parseEvent, toBriefJson, valueAt } from '../events/fields.ts'

/** Maximum size of the structured part of an answer, in bytes of JSON: an agent pays for each byte that it reads. */
export const maxAnswerBytes = 57_344
/** Maximum size of the text beside it, in characters. */
export const maxTextChars = 6000

const maxStringChars = 300
const maxFields = 60
const maxNameChars = 120

/** A field of an event. Names are values of the message, not keys: an event chooses them. */
export interface NamedValue {
  readonly name: string
  readonly value: string | number | boolean | null
}

/** Returns a text of at most 300 characters in which every character can be seen. Line breaks are kept. */
export function shortText(text: string): string {
  return visibleLines(text.length > maxStringChars ? `${text.slice(0, maxStringChars)}…` : text)
}

export function isShort(text: string): boolean {
  return text.length <= maxStringChars
}

function visibleLines(text: string): string {
  return text.split('\n').map(toVisibleText).join('\n')
}

/** Returns fields of an event, and whether something of them was cut or left out. */
export function shortFields(
  line: string,
  chosen: readonly string[] | undefined,
  leftOut: ReadonlySet<string>,
): { fields: NamedValue[]; isCut: boolean } {
  const event = parseEvent(line) ?? {}
  const all =
    chosen === undefined
      ? fieldsOf(event).filter(({ path }) => !leftOut.has(path))
      : chosen.map(path => ({ path, value: valueAt(event, path) })).filter(({ value }) => value !== undefined)
  let isCut = all.length > maxFields
  const fields = all.slice(0, maxFields).map(({ path, value }) => {
    const text = typeof value === 'string' ? value : undefined
    isCut ||= path.length > maxNameChars || (text !== undefined && !isShort(text))
    return { name: toVisibleText(path.slice(0, maxNameChars)), value: shortValue(value) }
  })
  return { fields, isCut }
}

function shortValue(value: unknown): NamedValue['value'] {
  if (typeof value === 'string') return shortText(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (value instanceof ExactNumber) return value.text
  return shortText(toBriefJson(value, maxStringChars))
}

/** Takes items while their JSON fits into the answer. Returns them, and whether all were taken. */
export function thatFit<Item>(items: readonly Item[], maxBytes = maxAnswerBytes): { taken: Item[]; areAll: boolean } {
  const taken: Item[] = []
  let bytes = 0
  for (const item of items) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1
    if (bytes > maxBytes) return { taken, areAll: false }
    taken.push(item)
  }
  return { taken, areAll: true }
}
