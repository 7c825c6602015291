import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { submessages } from './otlp-schema.ts'

/** Maximum number of messages in one request. A decoded message takes about 150 bytes, and an empty one takes two. */
export const maxMessages = 500_000
const maxDepth = 500

/**
 * Returns the number of messages inside a message of Protocol Buffers. The records of a request count, the messages inside
 * the records do not. Returns infinity if there are more than `max`, or if they are nested too deeply.
 */
export function messagesIn(message: Uint8Array, name: 'Request' | 'LogRecord', max: number): number {
  let count = 0
  const pending: { bytes: Uint8Array; name: string; depth: number }[] = [{ bytes: message, name, depth: 0 }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { bytes, depth } = next
    const reader = new BinaryReader(bytes)
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      const child = submessages[next.name]?.get(field)
      if (child === undefined || type !== WireType.LengthDelimited) {
        reader.skip(type, field)
        continue
      }
      count += 1
      if (count > max || depth >= maxDepth) return Number.POSITIVE_INFINITY
      if (child === 'LogRecord') reader.skip(type, field)
      else pending.push({ bytes: reader.bytes(), name: child, depth: depth + 1 })
    }
  }
  return count
}

const openBrace = 0x7b
const openBracket = 0x5b

/** True if the request, in JSON, may have more objects and lists than are decoded. */
export function isTooManyObjects(body: Uint8Array): boolean {
  let count = 0
  for (let at = 0; at < body.length && count <= maxMessages; at += 1) {
    if (body[at] === openBrace || body[at] === openBracket) count += 1
  }
  return count > maxMessages
}
