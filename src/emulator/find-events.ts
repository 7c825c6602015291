import { isUtf8 } from 'node:buffer'
import { BodyEvents } from './body-events.ts'
import { isJsonObject, malformedJson, parsedJson } from './json-text.ts'
import { elementSpans, lineSpans, wholeSpan } from './spans.ts'

/** Why a body holds no events that could be stored. */
export interface BodyProblem {
  code: 'not-utf-8' | 'malformed-json' | 'not-an-object'
  message: string
}

/** Finds the events in a body and checks each of them. One bad event is a problem of the whole body. */
export function findEvents(body: Buffer, mediaType: string): BodyEvents | BodyProblem {
  if (!isUtf8(body)) return notUtf8(body)
  return mediaType === 'application/json' ? eventsOfJson(body) : eventsOfNdjson(body)
}

function eventsOfNdjson(body: Buffer): BodyEvents | BodyProblem {
  const events = new BodyEvents(body, lineSpans(body))
  for (let index = 0; index < events.count; index += 1) {
    const value = parsedJson(events.line(index))
    if (isJsonObject(value)) continue
    if (value !== undefined) return notAnObject(events, index, value)
    return (index === 0 && onePrettyEvent(body)) || malformed(events.line(index), lineNumber(body, events.start(index)))
  }
  return events
}

/** A single event is accepted as the body, so it may be spread over several lines. */
function onePrettyEvent(body: Buffer): BodyEvents | undefined {
  return isJsonObject(parsedJson(body.toString())) ? new BodyEvents(body, wholeSpan(body)) : undefined
}

function eventsOfJson(body: Buffer): BodyEvents | BodyProblem {
  const spans = startsAnArray(body) ? elementSpans(body) : wholeSpan(body)
  if (!spans) return malformed(body.toString())
  const events = new BodyEvents(body, spans)
  for (let index = 0; index < events.count; index += 1) {
    const value = parsedJson(events.line(index))
    if (value === undefined) return malformed(body.toString())
    if (!isJsonObject(value)) return notAnObject(events, index, value)
  }
  return events
}

function startsAnArray(body: Buffer): boolean {
  return body[wholeSpan(body)[0] ?? 0] === '['.charCodeAt(0)
}

function malformed(text: string, firstLine?: number): BodyProblem {
  return { code: 'malformed-json', message: malformedJson(text, firstLine) }
}

function notAnObject(events: BodyEvents, index: number, value: unknown): BodyProblem {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  const where = `event ${index + 1} of the body (line ${lineNumber(events.body, events.start(index))})`
  return { code: 'not-an-object', message: `${where} is ${kind}; each event must be a JSON object` }
}

function notUtf8(body: Buffer): BodyProblem {
  let line = 1
  let start = 0
  for (let end = body.indexOf('\n'); end !== -1 && isUtf8(body.subarray(start, end)); end = body.indexOf('\n', start)) {
    start = end + 1
    line += 1
  }
  return { code: 'not-utf-8', message: `line ${line} of the body is not valid UTF-8` }
}

function lineNumber(body: Buffer, offset: number): number {
  let line = 1
  for (let at = body.indexOf('\n'); at !== -1 && at < offset; at = body.indexOf('\n', at + 1)) line += 1
  return line
}
