import { escapeJson } from '../../text/escape-json.ts'
import { parseEvent, toBriefJson, valueAt } from './fields.ts'
import type { ShownEvent } from './shown-event.ts'

/** Maximum length of the text in place of a value that is nested too deep, in characters. */
const maxDeepChars = 1000

export interface JsonOptions {
  /** Paths of the fields to write; `undefined` writes the event as it was sent. */
  readonly fields: readonly string[] | undefined
  /** True if each event is wrapped with its dataset, its source and the time of its arrival. */
  readonly hasMeta: boolean
}

/** Writes an event as one line of JSON: the same value as it was sent, in printable characters. */
export function toJsonLine(event: ShownEvent, { fields, hasMeta }: JsonOptions): string {
  const json = fields === undefined ? event.line : chosenFields(event.line, fields)
  return escapeJson(hasMeta ? withMeta(event, json) : json).replaceAll('\n', ' ')
}

function withMeta({ dataset, source, receivedAt }: ShownEvent, json: string): string {
  const time = new Date(receivedAt)
  const received = Number.isNaN(time.getTime()) ? null : time.toISOString()
  return `${JSON.stringify({ dataset, source, received }).slice(0, -1)},"event":${json}}`
}

function chosenFields(line: string, fields: readonly string[]): string {
  const event = parseEvent(line) ?? {}
  const entries = fields.flatMap(path => {
    const value = valueAt(event, path)
    return value === undefined ? [] : [`${JSON.stringify(path)}:${toJson(value)}`]
  })
  return `{${entries.join(',')}}`
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(toBriefJson(value, maxDeepChars)) // nested deeper than the stack
  }
}
