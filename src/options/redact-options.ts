/**
 * Returns what is shipped in place of a value.
 *
 * The value is plain data: an Error, a Map or an object with a `toJSON` is passed as the JSON that would be shipped. A
 * part of a text that `redactText` matches is passed as a text.
 *
 * @param path place of the value in the event: `user.email`, `items[0].card`
 * @returns a text, a number, a boolean or `null`; `undefined` removes the value
 */
export type CensorFunction = (value: unknown, path: string) => string | number | boolean | null | undefined

/** The long form of the option `redact`. `undefined` means the default. Unknown names throw a `TypeError`. */
export interface RedactOptions {
  /**
   * Paths of the values to redact, at most 200, each of at most 200 characters. A malformed path throws.
   *
   * - `password`: a name alone matches at any depth.
   * - `user.email`: a path starts at the root of the event. Arrays on the way need no brackets, and brackets match items of
   *   arrays only.
   * - `items[0].card`, `items[*].card`: one item of an array, or each.
   * - `*_secret`, `headers.*`: `*` is any number of characters within a name, or a whole name.
   * - `**.token`, `user.**.id`: `**` is any number of levels.
   * - `["a,b"]`, `['a"b']`: a name with characters that have a meaning in paths, without escapes.
   */
  readonly paths: readonly string[]
  /**
   * What is shipped in place of a value.
   *
   * - `'remove'`: nothing. The member is left out; an item of an array becomes `null`.
   * - `'hash'`: `hash:` and 32 hexadecimal digits, an HMAC-SHA-256 with `hashKey`. Equal values have equal hashes. Objects
   *   are equal if their members are, in the same order.
   * - any other text, of at most 100 characters: that text.
   * - a function: what the function returns. An event is dropped if the function throws, or returns anything else than
   *   plain data without members.
   *
   * @defaultValue '[redacted]'
   */
  readonly censor?: 'remove' | 'hash' | (string & {}) | CensorFunction | undefined
  /**
   * Key of the HMAC, at least 16 bytes. Required for `censor: 'hash'`; with another `censor`, it throws a `TypeError`.
   *
   * @defaultValue none
   */
  readonly hashKey?: string | Uint8Array | undefined
  /**
   * Ignores the case of names: `authorization` also matches `Authorization`.
   *
   * @defaultValue false
   */
  readonly ignoreCase?: boolean | undefined
}
