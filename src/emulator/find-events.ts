import { isUtf8 } from 'node:buffer'
import { BodyEvents, type EventObject } from './body-events.ts'
import { isJsonObject, isOutlineOnly, malformedJson, outlineOfJson, parsedJson } from './json-text.ts'
import { isNestedDeeper } from './nesting.ts'
import { Slices } from './slices.ts'
import { type EventBounds, elementSpans, lineNumber, lineSpans, type Spans, wholeSpan } from './spans.ts'

/** The reason why no event of a body can be stored. */
export interface BodyProblem {
  status: 400 | 413
  code: 'not-utf-8' | 'malformed-json' | 'not-an-object' | 'too-many-events' | 'event-too-large' | 'nested-too-deeply'
  message: string
}

/** Bounds of a search, and whether its result keeps the parsed events. */
export interface Search extends EventBounds {
  /** @defaultValue false */
  readonly keepsParsed?: boolean
}

/** Finds the events in a body and checks each of them. One invalid event makes the whole body invalid. */
export async function findEvents(body: Buffer, mediaType: string, search: Search): Promise<BodyEvents | BodyProblem> {
  if (!isUtf8(body)) return notUtf8(body)
  return mediaType === 'application/json' ? eventsOfJson(body, search) : eventsOfNdjson(body, search)
}

/** Returns a problem if a body that is one JSON text is nested too deeply, else `undefined`. */
export function nestingProblem(text: string, { maxNestingDepth }: EventBounds): BodyProblem | undefined {
  return isNestedDeeper(text, maxNestingDepth) ? tooDeep('the body', maxNestingDepth) : undefined
}

async function eventsOfNdjson(body: Buffer, bounds: Search): Promise<BodyEvents | BodyProblem> {
  return checkedEvents(body, lineSpans(body, bounds), bounds, async (events, index) => {
    const pretty = index === 0 ? await onePrettyEvent(body, bounds) : undefined
    return pretty ?? malformed(events.line(index), lineNumber(body, events.start(index)))
  })
}

/** Reads the body as one event, which may span several lines: a single event is accepted as a whole body. */
async function onePrettyEvent(body: Buffer, bounds: EventBounds): Promise<BodyEvents | BodyProblem | undefined> {
  const text = body.toString()
  const problem = nestingProblem(text, bounds)
  if (problem) return problem
  if (!isJsonObject(await outlineOfJson(text))) return undefined
  const event = new BodyEvents(body, wholeSpan(body))
  return event.size(0) > bounds.maxEventBytes ? tooLarge(event, 0, bounds) : event
}

async function eventsOfJson(body: Buffer, bounds: Search): Promise<BodyEvents | BodyProblem> {
  const spans = spansOfJson(body, bounds)
  const problem = () => malformed(body.toString())
  return spans ? checkedEvents(body, spans, bounds, problem) : problem()
}

/** @param onInvalid returns the result for a body whose piece with this index is not valid JSON */
async function checkedEvents(
  body: Buffer,
  spans: Spans,
  bounds: Search,
  onInvalid: (events: BodyEvents, index: number) => Promise<BodyEvents | BodyProblem>,
): Promise<BodyEvents | BodyProblem> {
  const parsed: (EventObject | undefined)[] = []
  const events = new BodyEvents(body, spans, parsed)
  if (events.count > bounds.maxRequestEvents) return tooMany(bounds)
  const slices = new Slices()
  for (let index = 0; index < events.count; index += 1) {
    if (slices.isOver) await slices.next()
    if (events.size(index) > bounds.maxEventBytes) return tooLarge(events, index, bounds)
    const text = events.line(index)
    if (isNestedDeeper(text, bounds.maxNestingDepth)) return tooDeep(placeOf(events, index), bounds.maxNestingDepth)
    const value = isOutlineOnly(text) ? await outlineOfJson(text) : parsedJson(text)
    if (value === undefined) return onInvalid(events, index)
    if (!isJsonObject(value)) return notAnObject(events, index, value)
    if (bounds.keepsParsed) parsed.push(isOutlineOnly(text) ? undefined : value)
  }
  return events
}

function spansOfJson(body: Buffer, bounds: EventBounds): Spans | undefined {
  const whole = wholeSpan(body)
  return body[whole[0] ?? 0] === '['.charCodeAt(0) ? elementSpans(body, bounds) : whole
}

function placeOf(events: BodyEvents, index: number): string {
  return `event ${index + 1} of the body (line ${lineNumber(events.body, events.start(index))})`
}

function tooMany({ maxRequestEvents }: EventBounds): BodyProblem {
  const message = `a request may have up to ${maxRequestEvents} events (maxRequestEvents of the emulator)`
  return { status: 413, code: 'too-many-events', message }
}

function tooLarge(events: BodyEvents, index: number, { maxEventBytes }: EventBounds): BodyProblem {
  const message = `${placeOf(events, index)} has more than ${maxEventBytes} bytes (maxEventBytes of the emulator)`
  return { status: 413, code: 'event-too-large', message }
}

function tooDeep(what: string, maxDepth: number): BodyProblem {
  const message = `${what} is nested more deeply than ${maxDepth} levels (maxNestingDepth of the emulator)`
  return { status: 400, code: 'nested-too-deeply', message }
}

async function malformed(text: string, firstLine?: number): Promise<BodyProblem> {
  return { status: 400, code: 'malformed-json', message: await malformedJson(text, firstLine) }
}

function notAnObject(events: BodyEvents, index: number, value: unknown): BodyProblem {
  const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`
  const message = `${placeOf(events, index)} is ${kind}; each event must be a JSON object`
  return { status: 400, code: 'not-an-object', message }
}

function notUtf8(body: Buffer): BodyProblem {
  const line = lineNumber(body, startOfInvalidLine(body))
  return { status: 400, code: 'not-utf-8', message: `line ${line} of the body is not valid UTF-8` }
}

/**
 * Returns the offset of the first line that is not valid UTF-8, found by bisection. The body can be cut at any newline,
 * because no byte of a multi-byte character equals a newline.
 */
function startOfInvalidLine(body: Buffer): number {
  let start = 0
  let end = body.length
  for (;;) {
    const middle = body.lastIndexOf('\n', Math.floor((start + end - 1) / 2))
    const found = middle >= start ? middle : body.indexOf('\n', start)
    if (found === -1 || found >= end - 1) return start
    if (isUtf8(body.subarray(start, found))) start = found + 1
    else end = found
  }
}
