import { formattedText, type Info } from './winston-info.ts'

/** Maximum length of a text that is parsed. Parsing takes a millisecond for one or two million characters. */
const maxLength = 10_000_000

/**
 * Returns the message and the timestamp that `format.logstash()` has taken out of an info and left only in its text.
 * The members of that text are sorted, so these two stand at the end.
 */
export function logstashFields(info: Info): Info {
  const text = info[formattedText]
  if (typeof text !== 'string' || !text.startsWith('{"@fields":')) return {}
  const at = Math.max(text.lastIndexOf(',"@message":'), text.lastIndexOf(',"@timestamp":'))
  const start = text.lastIndexOf(',"@message":', at)
  const end = text.slice((start < 0 ? at : start) + 1)
  if (at < 0 || end.length > maxLength) return {}
  try {
    // Members with these names inside "@fields" are followed by more braces, so parsing fails.
    const { '@message': message, '@timestamp': timestamp } = JSON.parse(`{${end}`) as Record<string, unknown>
    return { ...(message !== undefined && { message }), ...(timestamp !== undefined && { timestamp }) }
  } catch {
    return {}
  }
}
