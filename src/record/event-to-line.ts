import { type Alterations, eventToJson } from './event-to-json.ts'
import { LineWriter } from './line-writer.ts'

/** Lines up to nearly so many bytes are written in one pass, and all in the same place. */
const usualBytes = 65_536
/** `{}` */
const emptyObject = 2

/** The line of one event, without its newline. */
export interface Line {
  /** Has the line until the next one is made. */
  readonly bytes: Buffer
  readonly length: number
}

const nothing = new Uint8Array(0)
const place = Buffer.allocUnsafeSlow(usualBytes)
const writer = new LineWriter(place)
/** Whether somebody is at work in the place: an accessor that is read meanwhile may log. */
let isTaken = false

/**
 * The line of an event: its JSON as of `eventToJson`, with `head` in place of its opening brace and `tail` in place of its
 * closing one, at most `maxBytes` in all. Never throws, whatever the event holds.
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
): Line {
  const start = head?.length ?? 0
  const tailBytes = tail?.length ?? 0
  const mostJsonBytes = maxBytes - start - tailBytes
  if (isTaken) {
    const ownHead = head?.slice() // it is written anew for an event that is logged meanwhile
    return lineOfJson(eventToJson(event, mostJsonBytes, altered, written), ownHead, tail)
  }
  isTaken = true
  try {
    if (head !== undefined) place.set(head)
    const end = written === undefined ? writer.write(event, start) : -1
    if (end >= 0 && end - start <= mostJsonBytes && end + tailBytes <= usualBytes) return inPlace(start, end, tail)
    const json = eventToJson(event, mostJsonBytes, altered, written)
    if (start + 3 * json.length + tailBytes > usualBytes) return lineOfJson(json, place.subarray(0, start), tail)
    return inPlace(start, start + place.write(json, start), tail)
  } finally {
    isTaken = false
  }
}

function inPlace(start: number, end: number, tail: Uint8Array | undefined): Line {
  return { bytes: place, length: framed(place, start, end, tail) }
}

function lineOfJson(json: string, head: Uint8Array = nothing, tail: Uint8Array | undefined): Line {
  const start = head.length
  const bytes = Buffer.allocUnsafe(start + Buffer.byteLength(json) + (tail?.length ?? 0))
  bytes.set(head)
  return { bytes, length: framed(bytes, start, start + bytes.write(json, start), tail) }
}

/** Joins the object that stands from `start` to `end` to what stands before it, and the tail to both; says where it all ends. */
function framed(bytes: Buffer, start: number, end: number, tail: Uint8Array | undefined): number {
  let to = end
  if (start > 0) {
    const isEmpty = end - start === emptyObject
    bytes[start] = isEmpty ? closingBrace : comma
    if (isEmpty) to = start + 1
  }
  if (tail === undefined) return to
  const rest = to === emptyObject && tail.length > 1 ? tail.subarray(1) : tail // there is nothing before its comma
  bytes.set(rest, to - 1)
  return to - 1 + rest.length
}

const comma = 0x2c
const closingBrace = 0x7d
