import type { Info } from './lost-arguments.ts'

const formattedText = Symbol.for('message')
/** A longer text is not read: that takes a millisecond for a million characters or two. */
const maxLength = 10_000_000

/**
 * What `format.logstash()` has taken out of an info: its message and its time stamp, which are in the text alone. Its
 * members are sorted, so those two stand at the end.
 */
export function logstashFields(info: Info): Info {
  const text = info[formattedText]
  if (typeof text !== 'string' || !text.startsWith('{"@fields":')) return {}
  const at = Math.max(text.lastIndexOf(',"@message":'), text.lastIndexOf(',"@timestamp":'))
  const start = text.lastIndexOf(',"@message":', at)
  const end = text.slice((start < 0 ? at : start) + 1)
  if (at < 0 || end.length > maxLength) return {}
  try {
    // Members of these names within "@fields" are followed by more braces.
    const { '@message': message, '@timestamp': timestamp } = JSON.parse(`{${end}`) as Record<string, unknown>
    return { ...(message !== undefined && { message }), ...(timestamp !== undefined && { timestamp }) }
  } catch {
    return {}
  }
}
