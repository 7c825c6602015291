import { counted } from '../../text/counted.ts'
import { toVisibleText } from '../../text/visible-text.ts'
import { briefJson, ExactNumber, type Field, fieldsOf, parseEvent, toBriefJson, valueAt } from '../events/fields.ts'

/**
 * Maximum sizes of the parts of an answer, in bytes of JSON. An answer has one list, a few short lists beside it, and a
 * text. It has less than 64 KB in all, because an agent pays for each byte that it reads.
 */
const maxListBytes = 36_000
export const maxSideListBytes = 4000
export const maxTextBytes = 12_000

const maxStringChars = 300
/** Maximum length of a text whose invisible characters have become labels. */
const maxVisibleChars = 600
const maxFields = 60
const maxFieldsBytes = 12_000
const maxNameChars = 120

/** A field of an event. Names are values of the message, not keys: an event chooses them. */
export interface NamedValue {
  readonly name: string
  readonly value: string | number | boolean | null
}

/** Returns a short text in which every character can be seen. Line breaks are kept. */
export function shortText(text: string, maxChars = maxStringChars): string {
  return beginning(visibleLines(text.length > maxChars ? `${beginning(text, maxChars)}…` : text), maxVisibleChars)
}

/** Returns at most `maxChars` characters of a text, and half a character of none: some clients refuse such JSON. */
function beginning(text: string, maxChars: number): string {
  const isPair = maxChars < text.length && (text.codePointAt(maxChars - 1) as number) > 0xffff
  return text.slice(0, isPair ? maxChars - 1 : maxChars)
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
  const isLong = ({ path, value }: Field) => path.length > maxNameChars || isLongValue(value)
  const shortened = all
    .slice(0, maxFields)
    .map(({ path, value }) => ({ name: shortText(path, maxNameChars), value: shortValue(value) }))
  const { taken } = thatFit(shortened, maxFieldsBytes)
  return { fields: taken, isCut: taken.length < all.length || all.some(isLong) }
}

function isLongValue(value: unknown): boolean {
  if (typeof value === 'string') return !isShort(value)
  if (value instanceof ExactNumber) return !isShort(value.text)
  const { text, isCut } = briefJson(value, maxStringChars)
  return isCut || !isShort(text)
}

function shortValue(value: unknown): NamedValue['value'] {
  if (typeof value === 'string') return shortText(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value
  if (value instanceof ExactNumber) return shortText(value.text)
  return shortText(toBriefJson(value, maxStringChars))
}

/** Takes items while their JSON fits into the answer. Returns them, and whether all were taken. */
export function thatFit<Item>(items: readonly Item[], maxBytes = maxListBytes): { taken: Item[]; areAll: boolean } {
  const taken: Item[] = []
  let bytes = 0
  for (const item of items) {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1
    if (bytes > maxBytes) return { taken, areAll: false }
    taken.push(item)
  }
  return { taken, areAll: true }
}

/** Maximum size of a part of a long text, in bytes of JSON. An answer has the part twice: as data and as text. */
const maxPartBytes = 28_000

/** Returns a part of a long text. */
export function partOf(text: string, offset: number): string {
  let part = beginning(text.slice(offset), maxPartBytes)
  for (let bytes = jsonBytes(part); bytes > maxPartBytes; bytes = jsonBytes(part)) {
    part = beginning(part, Math.floor((part.length * maxPartBytes) / bytes))
  }
  return part
}

/** Returns the first lines that fit beside the data of an answer. */
export function shortLines(lines: readonly string[]): string {
  const { taken, areAll } = thatFit(lines, maxTextBytes)
  const more = lines.length - taken.length
  return [...taken, ...(areAll ? [] : [`… ${counted(more, 'more line is', 'more lines are')} in the data.`])].join('\n')
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}
