/**
 * Returns a copy of a text that refers to no other text. V8 makes a part of a text as a reference to the whole, such as a
 * header of many kilobytes.
 */
export function detached(text: string): string {
  return ` ${text}`.slice(1)
}
