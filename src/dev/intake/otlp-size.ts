import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { submessages } from './otlp-schema.ts'

/** Maximum number of messages in one request. A decoded message takes about 150 bytes, and an empty one takes two. */
const maxMessages = 500_000
const maxDepth = 500

/** True if the request, in Protocol Buffers, has more messages than are decoded, or nests them too deeply. */
export function isTooManyMessages(body: Uint8Array): boolean {
  let count = 0
  const pending: { bytes: Uint8Array; name: string; depth: number }[] = [{ bytes: body, name: 'Request', depth: 0 }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { bytes, name, depth } = next
    const reader = new BinaryReader(bytes)
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      const child = submessages[name]?.get(field)
      if (child === undefined || type !== WireType.LengthDelimited) {
        reader.skip(type, field)
        continue
      }
      count += 1
      if (count > maxMessages || depth >= maxDepth) return true
      pending.push({ bytes: reader.bytes(), name: child, depth: depth + 1 })
    }
  }
  return false
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
