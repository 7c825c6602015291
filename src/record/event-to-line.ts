import { type Alterations, eventToPlain, fitted } from './event-to-plain.ts'
import { FasterWay } from './faster-way.ts'
import { isPlainData, isPlainJson } from './is-plain-data.ts'
import { LineWriter } from './line-writer.ts'
import { effortOfLogCall, sparingly } from './log-calls.ts'
import type { NonFinite, PlainCopy } from './plain.ts'

/**
 * Bytes left for fields that an event gets after it was cut: a timestamp, a uid, the rate of a sample, and the like.
 */
const maxAddedBytes = 512
/** Maximum share of the maximum bytes of an event that is left for such fields. */
const maxAddedShare = 1 / 16

/** The line of one event, without its newline. */
export interface Line {
  /** Holds the line until the next line is made. */
  readonly bytes: Buffer
  readonly length: number
}

const shared = new LineWriter()
/**
 * `anew` chooses between the writer's one pass and a walk followed by `JSON.stringify`. `written` is for events whose
 * text exists already. It chooses between a walk after which that text is used, and the writer. V8 keeps such a text in
 * many pieces, and joining them may take longer than writing small fields anew.
 */
const fasterWay = { anew: new FasterWay(), written: new FasterWay() }
/**
 * True while the shared writer is in use. An accessor read during serialization may log, and must not reuse the writer.
 */
let isTaken = false

/**
 * Returns the line of an event, which is always a JSON object. `head` replaces the opening brace of the event, and
 * `tail` replaces its closing brace. The line has at most `maxBytes`, which must leave 256 or more for the event. Never
 * throws, whatever the event holds.
 *
 * Plain data that fits is written as it is. Any other event is first copied into plain data, and cut if it is too
 * large.
 *
 * @param written the text of `JSON.stringify` for an event of plain data, if that text exists already
 */
export function eventToLine(
  event: object,
  head: Uint8Array | undefined,
  tail: Uint8Array | undefined,
  maxBytes: number,
  altered: Alterations,
  written?: string,
  nonFinite?: NonFinite,
): Line {
  if (isTaken) return writeLine(new LineWriter(), event, head, tail, maxBytes, altered, written, nonFinite)
  isTaken = true
  try {
    return writeLine(shared, event, head, tail, maxBytes, altered, written, nonFinite)
  } finally {
    isTaken = false
  }
}

/**
 * Returns the line of an event of plain data with its text as it is, so that numbers keep digits that JavaScript would
 * lose. Returns `undefined` if the event is nested too deep, is too long, or has a number out of range.
 *
 * @param text JSON of the event, which has members, without white space around it
 */
export function textToLine(
  text: string,
  event: object,
  head: Uint8Array | undefined,
  tail: Uint8Array | undefined,
  maxBytes: number,
): Line | undefined {
  const writer = isTaken ? new LineWriter() : shared // plain data runs no code that could log meanwhile
  const maxEventBytes = maxBytes - writer.begin(head) - (tail?.length ?? 0)
  if (!isPlainJson(event, maxEventBytes, 'text') || !writer.writeJson(text, maxEventBytes)) return undefined
  const length = writer.end(tail)
  return { bytes: writer.bytes, length }
}

/** Returns the JSON of an event, without head and tail. */
export function eventToJson(event: object, maxBytes: number, altered: Alterations, nonFinite?: NonFinite): string {
  const { bytes, length } = eventToLine(event, undefined, undefined, maxBytes, altered, undefined, nonFinite)
  return bytes.toString('utf8', 0, length)
}

/**
 * Returns an event as it is sent, as plain data. A large event is cut a little below `maxEventBytes`, which leaves room
 * for a timestamp and the like. Otherwise its line would have to be cut again.
 */
export function eventAsSent(
  event: object,
  maxEventBytes: number,
  altered: Alterations,
  nonFinite?: NonFinite,
): Record<string, unknown> {
  return sparingly(() => JSON.parse(eventToJson(event, bytesAsSent(maxEventBytes), altered, nonFinite)))
}

/** Returns the maximum bytes of an event to which a timestamp and the like will be added. */
export function bytesAsSent(maxEventBytes: number): number {
  return maxEventBytes - Math.min(maxAddedBytes, Math.floor(maxEventBytes * maxAddedShare))
}

/**
 * Returns the JSON of an object of plain data. Returns `undefined` for any other object, and for one that takes more than
 * `maxBytes` or takes long to read.
 */
export function plainToJson(data: object, maxBytes: number, nonFinite?: NonFinite): string | undefined {
  if (isTaken) return plainToJsonBy(new LineWriter(), data, maxBytes, nonFinite)
  isTaken = true
  try {
    return plainToJsonBy(shared, data, maxBytes, nonFinite)
  } finally {
    isTaken = false
  }
}

function plainToJsonBy(
  writer: LineWriter,
  data: object,
  maxBytes: number,
  nonFinite: NonFinite | undefined,
): string | undefined {
  writer.begin(undefined, nonFinite)
  return writer.write(data, maxBytes) ? writer.bytes.toString('utf8', 0, writer.end(undefined)) : undefined
}

/** Returns the line of an event that has been copied into plain data, like `eventToLine`. */
export function copyToLine(
  copy: PlainCopy,
  head: Uint8Array | undefined,
  tail: Uint8Array | undefined,
  maxBytes: number,
  altered: Alterations,
): Line {
  const writer = isTaken ? new LineWriter() : shared // plain data runs no code that could log meanwhile
  const maxEventBytes = maxBytes - writer.begin(head) - (tail?.length ?? 0)
  writeCopy(writer, copy, maxEventBytes, altered)
  const length = writer.end(tail)
  return { bytes: writer.bytes, length }
}

function writeLine(
  writer: LineWriter,
  event: object,
  head: Uint8Array | undefined,
  tail: Uint8Array | undefined,
  maxBytes: number,
  altered: Alterations,
  written: string | undefined,
  nonFinite: NonFinite | undefined,
): Line {
  const maxEventBytes = maxBytes - writer.begin(head, nonFinite) - (tail?.length ?? 0)
  if (!write(writer, event, maxEventBytes, nonFinite, written)) {
    const effort = effortOfLogCall()
    effort.spendTime(writer.slowMs)
    writeCopy(
      writer,
      eventToPlain(event, maxEventBytes, effort, altered, nonFinite, writer.names),
      maxEventBytes,
      altered,
    )
  }
  const length = writer.end(tail)
  return { bytes: writer.bytes, length }
}

function writeCopy(writer: LineWriter, copy: PlainCopy, maxEventBytes: number, altered: Alterations): void {
  // Writing the copy shows whether it fits, in a fraction of the time that measuring takes.
  if (copy.isWhole && writer.writeCopy(copy.fields, maxEventBytes)) return
  const plain = fitted(copy, maxEventBytes, altered)
  // An application that extends `Object.prototype`, for example, makes the writer refuse even plain data.
  if (!writer.writeCopy(plain, maxEventBytes)) writer.writeJson(JSON.stringify(plain), Number.POSITIVE_INFINITY)
}

function write(
  writer: LineWriter,
  event: object,
  maxEventBytes: number,
  nonFinite: NonFinite | undefined,
  written: string | undefined,
): boolean {
  if (writer !== shared) return writer.write(event, maxEventBytes)
  const faster = written === undefined ? fasterWay.anew : fasterWay.written
  const isSecond = faster.begin()
  const isWritten =
    isSecond === (written === undefined)
      ? writeNatively(writer, event, maxEventBytes, nonFinite, written)
      : writer.write(event, maxEventBytes)
  if (isWritten) faster.end(isSecond, writer.length)
  return isWritten
}

/**
 * Writes plain data as `JSON.stringify` does. Returns false if the event is not plain data, or takes more than
 * `maxEventBytes`.
 */
function writeNatively(
  writer: LineWriter,
  event: object,
  maxEventBytes: number,
  nonFinite: NonFinite | undefined,
  written: string | undefined,
): boolean {
  try {
    if (!isPlainData(event, maxEventBytes, nonFinite)) return false
    const json = written ?? JSON.stringify(event)
    return json.startsWith('{') && writer.writeJson(json, maxEventBytes)
  } catch {
    return false // an accessor or a proxy threw, or answered differently the second time
  }
}
