import { type Alterations, eventToPlain, fitted } from './event-to-plain.ts'
import { FasterWay } from './faster-way.ts'
import { isPlainData } from './is-plain-data.ts'
import { LineWriter } from './line-writer.ts'
import { effortOfLogCall } from './log-calls.ts'
import type { NonFinite } from './plain.ts'

/** The line of one event, without its newline. */
export interface Line {
  /** Has the line until the next one is made. */
  readonly bytes: Buffer
  readonly length: number
}

const shared = new LineWriter()
/**
 * Of the writer's one pass, and a walk with `JSON.stringify` after it. Where there is a text already, of a walk with that, and
 * the writer: V8 has left the text in many pieces, and to join them may take longer than to write small fields anew.
 */
const fasterWay = { anew: new FasterWay(), written: new FasterWay() }
/** Whether somebody is at work with it: an accessor that is read meanwhile may log. */
let isTaken = false

/**
 * The line of an event: always a JSON object, with `head` in place of its opening brace and `tail` in place of its closing
 * one, and at most `maxBytes` in all, of which 256 or more are for the event. Never throws, whatever the event holds.
 *
 * Plain data that fits is written as it is. Anything else is first copied into plain data, and cut where it is too large.
 *
 * @param written what `JSON.stringify` would say of plain data, where that has been written already
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

/** The same as a text, without head and tail. */
export function eventToJson(event: object, maxBytes: number, altered: Alterations, nonFinite?: NonFinite): string {
  const { bytes, length } = eventToLine(event, undefined, undefined, maxBytes, altered, undefined, nonFinite)
  return bytes.toString('utf8', 0, length)
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
    const copy = eventToPlain(event, maxEventBytes, effortOfLogCall(), altered, nonFinite)
    // To write it shows whether it fits in a fraction of the time that measuring takes.
    if (!copy.isWhole || !writer.writeCopy(copy.fields, maxEventBytes)) {
      const plain = fitted(copy, maxEventBytes, altered)
      // What everything inherits, if somebody has added to it, keeps the writer from what is plain otherwise.
      if (!writer.writeCopy(plain, maxEventBytes)) writer.writeJson(JSON.stringify(plain), Number.POSITIVE_INFINITY)
    }
  }
  const length = writer.end(tail)
  return { bytes: writer.bytes, length }
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

/** Writes plain data as `JSON.stringify` does. `false` when it is none, or takes more than `maxEventBytes`. */
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
    return false // an accessor or a proxy that throws, or says something else the second time
  }
}
