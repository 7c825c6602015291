/**
 * Finds the events of a body by the mark in the name of their number's field (see workload/event.ts), in whatever format:
 * JSON, JSON inside a JSON string, protobuf. One native search an event, and nothing is parsed.
 */
export function eachNumber(body: Buffer, visit: (n: number) => void): void {
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + 1)) {
    if (body[at - 1] !== letterN) continue
    const n = numberAfter(body, at + 1)
    if (n !== undefined) visit(n)
  }
}

const mark = 0x23 // #
const letterN = 0x6e
const backslash = 0x5c
const quote = 0x22
const colon = 0x3a
const zero = 0x30
/** Field 2 of a protobuf KeyValue, length-delimited: its AnyValue; and int_value, field 3 of that, a varint. */
const protobufValue = 0x12
const protobufInteger = 0x18

function numberAfter(body: Buffer, start: number): number | undefined {
  let at = start
  if (body[at] === protobufValue && body[at + 2] === protobufInteger) return varint(body, at + 3)
  if (body[at] === backslash) at += 1
  if (body[at] !== quote || body[at + 1] !== colon) return undefined
  return decimal(body, at + 2)
}

function decimal(body: Buffer, start: number): number | undefined {
  let n = 0
  let at = start
  for (let digit = (body[at] ?? 0) - zero; digit >= 0 && digit <= 9; digit = (body[++at] ?? 0) - zero)
    n = n * 10 + digit
  return at === start ? undefined : n
}

function varint(body: Buffer, start: number): number | undefined {
  let n = 0
  for (let at = start, factor = 1; at < body.length; at += 1, factor *= 128) {
    const byte = body[at] as number
    n += (byte & 127) * factor
    if (byte < 128) return n
  }
  return undefined
}
