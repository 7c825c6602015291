import { kindOfValue } from './kind-of-value.ts'

const plainName = /^[\w$.]{0,60}(?:Error|Exception)$/

/**
 * Returns the kind of a thrown value: the name of an Error, or the type of any other value. The name is left out unless it
 * is a word that ends in `Error` or `Exception`, because it may be a text with logged data.
 *
 * Never throws, although an application may throw anything: a proxy, or an Error whose name is a symbol.
 */
export function kindOfThrown(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return kindOfValue(thrown)
    const name: unknown = thrown.name
    return typeof name === 'string' && plainName.test(name) ? name : 'Error'
  } catch {
    return kindOfValue(thrown)
  }
}

/**
 * Returns the class of a thrown Error, or the type of any other value. Code names a class, so no logged data is in its name,
 * whatever the `name` of the Error is. Never throws.
 */
export function classOfThrown(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return kindOfValue(thrown)
    const name: unknown = Object.getPrototypeOf(thrown).constructor.name
    return typeof name === 'string' && plainName.test(name) ? name : 'Error'
  } catch {
    return kindOfValue(thrown)
  }
}

/** Returns the kind of a thrown value, and the message if it is an Error. Never throws. */
export function textOfThrown(thrown: unknown): string {
  const kind = kindOfThrown(thrown)
  try {
    return thrown instanceof Error ? `${kind}: ${String(thrown.message)}` : kind
  } catch {
    return kind
  }
}

/**
 * Returns a property of a thrown value, or `undefined` if there is none. Never throws, although the value may be
 * anything: `null`, a proxy, or an Error with accessors.
 */
export function propertyOfThrown(thrown: unknown, name: 'name' | 'message' | 'stack' | 'code' | 'cause'): unknown {
  try {
    return (thrown as Readonly<Record<string, unknown>>)[name]
  } catch {
    return undefined
  }
}
