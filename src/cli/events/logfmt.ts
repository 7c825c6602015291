import { escapeJson } from '../../text/escape-json.ts'
import { ExactNumber, type Field, fieldsOf, parseEvent, toBriefJson, valueAt } from './fields.ts'
import type { ShownEvent } from './shown-event.ts'

/** Maximum length of a value that is an array or object, in characters. Texts are whole. */
const maxNestedChars = 10_000

/** Writes an event as one line of logfmt: `time=… level=… dataset=… msg="…" http.status=504`. */
export function toLogfmt(event: ShownEvent, chosen: readonly string[] | undefined): string {
  const parsed = parseEvent(event.line) ?? {}
  const time = valueAt(parsed, '_time')
  const pairs = [
    pair('time', typeof time === 'string' ? time : isoTime(event.at)),
    ...(event.level === null ? [] : [pair('level', event.level)]),
    pair('dataset', event.dataset),
    ...(event.source === null ? [] : [pair('source', event.source)]),
    pair('msg', event.message),
  ]
  const fields =
    chosen === undefined
      ? fieldsOf(parsed).filter(field => !isNamed(field, event))
      : chosen.map(path => ({ path, value: valueAt(parsed, path) })).filter(({ value }) => value !== undefined)
  return [...pairs, ...fields.map(({ path, value }) => pair(path, value))].join(' ')
}

/** True for a field that the line has under a name of its own. A level that is none of the six has no other place. */
function isNamed({ path, value }: Field, { level, message }: ShownEvent): boolean {
  if (path === 'level') return level !== null
  return path === '_time' || path === 'message' || (path === 'msg' && value === message)
}

function isoTime(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? '' : time.toISOString()
}

/** Writes a name and its value. A name has neither spaces nor quotation marks, which would end it. */
function pair(name: string, value: unknown): string {
  return `${name.replace(/[^\x21\x23-\x3c\x3e-\x7e\u{a1}-\u{10ffff}]/gu, '_').replace(/\p{C}/gu, '_')}=${toValue(value)}`
}

function toValue(value: unknown): string {
  if (value instanceof ExactNumber) return value.text
  const text = typeof value === 'string' ? value : toBriefJson(value, maxNestedChars)
  const isPlain = text !== '' && /^[\x21\x23-\x3c\x3e-\x5b\x5d-\x7e]+$/.test(text)
  return isPlain ? text : escapeJson(JSON.stringify(text.toWellFormed()))
}
