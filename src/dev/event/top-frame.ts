import { cutText } from '../cut-text.ts'
import type { EventObject } from './candidate.ts'

const maxStackChars = 16_384
const maxFrameChars = 200

/** Returns the first frame of an event's stack that is the application's own, or else the first one, or `null`. */
export function topFrameOf(event: EventObject): string | null {
  const stack = stackOf(event)
  if (stack === undefined) return null
  const frames = stack
    .slice(0, maxStackChars)
    .split('\n')
    .filter(line => /^\s+at\s/.test(line))
  const own = frames.find(frame => !/node_modules|node:|<anonymous>\)?$/.test(frame)) ?? frames[0]
  return own === undefined ? null : cutText(own.trim().replace(/^at\s+/, ''), maxFrameChars)
}

/** Returns the stack in an event, in one of the places where loggers put it. */
function stackOf(event: EventObject): string | undefined {
  for (const group of [event, event.error, event.err, event.exception, event.body]) {
    if (typeof group !== 'object' || group === null || !Object.hasOwn(group, 'stack')) continue
    const { stack } = group as { stack?: unknown }
    if (typeof stack === 'string') return stack
  }
  const { attributes } = event
  if (typeof attributes !== 'object' || attributes === null) return undefined
  const { exception } = attributes as { exception?: unknown }
  if (typeof exception !== 'object' || exception === null) return undefined
  const { stacktrace } = exception as { stacktrace?: unknown }
  return typeof stacktrace === 'string' ? stacktrace : undefined
}
