/**
 * Returns a copy of a text that refers to no other text. V8 makes a part of a text as a reference to the whole, such as a
 * header of many kilobytes.
 */
export function detached(text: string): string {
  return ` ${text}`.slice(1)
}

/** Returns such a copy that is also fast to compare with the same text in the application's code. */
export function internedCopy(text: string): string {
  const copy = Buffer.from(text).toString()
  return Object.keys({ [copy]: undefined })[0] ?? copy
}
