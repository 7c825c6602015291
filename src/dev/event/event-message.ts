import { cutText } from '../cut-text.ts'
import type { EventObject } from './candidate.ts'
import { messageNames } from './message-names.ts'

const maxMembers = 8
const maxMemberChars = 60
/** Fields that have a place of their own in a row. */
const shownElsewhere = new Set([
  '_time',
  'level',
  'trace_id',
  'span_id',
  'trace_flags',
  'severity_number',
  'severity_text',
])

/** Returns the message of an event, or a summary of an event that has no text as its message. */
export function messageOf(event: EventObject): string {
  for (const name of messageNames) {
    const text = event[name]
    if (typeof text === 'string' && text !== '') return text
  }
  const members: string[] = []
  for (const name in event) {
    if (!Object.hasOwn(event, name) || shownElsewhere.has(name)) continue
    if (name === 'message' && isBlank(event.message)) continue
    if (members.length === maxMembers) {
      members.push('…')
      break
    }
    members.push(`${cutText(name, maxMemberChars)}=${memberText(event[name])}`)
  }
  return members.join(' ')
}

function isBlank(message: unknown): boolean {
  return message === '' || message === null
}

function memberText(value: unknown): string {
  if (typeof value === 'string') return cutText(value, maxMemberChars)
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? '[…]' : '{…}'
}
