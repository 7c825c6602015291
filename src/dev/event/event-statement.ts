import { statementText } from '../../usage/statement-text.ts'

/** Stands for the statement of an event that has neither a message nor a name. */
export const noMessage = '[no message]'

/**
 * Returns the text of the statement that logged an event, as `shipper.usage()` has it: the constant part of the message,
 * or the name of the event or its scope in brackets.
 */
export function eventStatement(event: Readonly<Record<string, unknown>>): string {
  const message = loggedText(event)
  if (message !== undefined) return statementText(message)
  const name = [event.event_name, event.event, event.name, scopeName(event.scope)].find(isText)
  return name === undefined || name === '' ? noMessage : `[${statementText(name)}]`
}

/** Returns the text that was logged, as it is in the event. */
export function loggedText(event: Readonly<Record<string, unknown>>): string | undefined {
  return [event.message, event.msg].find(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function scopeName(scope: unknown): unknown {
  if (typeof scope !== 'object' || scope === null || !Object.hasOwn(scope, 'name')) return undefined
  return (scope as { name?: unknown }).name
}
