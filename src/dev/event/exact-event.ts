/** A value that is no object and no array. A whole number too large for a number of JavaScript is a `bigint`. */
export type Scalar = string | number | bigint | boolean | null

/** Matches a line that may have such a whole number. Within a text it is none, which costs time and nothing else. */
const mayHaveLongInteger = /[:,[]\s?-?\d{16}/

/** A whole number of 16 digits or more. A longer one than this takes long to convert, and stays a number. */
const longInteger = /^[+-]?\d{16,40}$/

/**
 * Parses a line with all digits of its whole numbers. `JSON.parse` alone makes 12345678901234567000 of
 * 12345678901234567890. A search for this id would then find no event, or those of other ids.
 *
 * @throws SyntaxError if the line is no JSON
 */
export function parseExactly(line: string): unknown {
  if (!mayHaveLongInteger.test(line)) return JSON.parse(line)
  try {
    return JSON.parse(line, exactInteger)
  } catch (error) {
    if (error instanceof RangeError) return JSON.parse(line) // too deep for a function at each value
    throw error
  }
}

/** Returns the event of a line with all digits of its whole numbers: the parsed one if that has them. */
export function exactEvent<T extends object>(line: string, parsed: T): T {
  return mayHaveLongInteger.test(line) ? (parseExactly(line) as T) : parsed
}

function exactInteger(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined ? (longIntegerOf(source) ?? value) : value
}

/** Returns a whole number that a number of JavaScript cannot hold; `undefined` for any other text. */
export function longIntegerOf(text: string): bigint | undefined {
  return longInteger.test(text) && !Number.isSafeInteger(Number(text)) ? BigInt(text.replace('+', '')) : undefined
}

/** Returns a scalar as JSON. */
export function scalarJson(value: Scalar): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}
