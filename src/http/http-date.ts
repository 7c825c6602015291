/** A date in the oldest of the three HTTP formats, that of C's `asctime`. It is in GMT, which `Date.parse` does not know. */
const withoutZone = /^[a-z]{3} [a-z]{3} [ \d]\d [\d:]{8} \d{4}$/i

/**
 * Parses a date of HTTP.
 *
 * @returns milliseconds since 1970, or `NaN` if the text is no date
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-date-time-formats
 */
export function httpDateMs(text: string): number {
  return Date.parse(withoutZone.test(text) ? `${text} GMT` : text)
}
