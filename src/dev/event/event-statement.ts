import { statementText } from '../../usage/statement-text.ts'

/**
 * Returns the text of the statement that logged an event, as `shipper.usage()` has it: the constant part of the message,
 * or the name of the event or its scope in brackets.
 */
export function eventStatement(event: Readonly<Record<string, unknown>>): string {
  const { message } = event
  if (typeof message === 'string') return statementText(message)
  const name = event.event_name ?? scopeName(event.scope)
  return typeof name === 'string' && name !== '' ? `[${statementText(name)}]` : '[no message]'
}

function scopeName(scope: unknown): unknown {
  if (typeof scope !== 'object' || scope === null || !Object.hasOwn(scope, 'name')) return undefined
  return (scope as { name?: unknown }).name
}
