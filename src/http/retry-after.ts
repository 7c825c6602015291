/**
 * Longest wait that an answer can impose, in milliseconds. After an hour the service is asked again, whatever it said: a
 * `Retry-After` of a month would outlive the trouble, and few requests are spent on finding out.
 */
const maxRetryAfterMs = 3_600_000
/** A date in any of the formats of HTTP has at most 33 characters. */
const maxChars = 64

/**
 * How long a `Retry-After` header asks us to wait, in milliseconds, an hour at most; `undefined` when it says nothing usable.
 *
 * A date is read against the answer's own `Date` header where there is one, so a clock that is wrong by an hour on
 * either side does not matter.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function retryAfterMs(
  header: string | undefined,
  nowMs: number,
  dateHeader?: string | undefined,
): number | undefined {
  const text = header?.trim()
  if (!text || text.length > maxChars) return undefined
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, maxRetryAfterMs)
  if (!/[a-z]/i.test(text)) return undefined // Date.parse takes "-5" and "2/3" for dates
  const atMs = Date.parse(text)
  if (Number.isNaN(atMs)) return undefined
  const serverNowMs = dateHeader === undefined || dateHeader.length > maxChars ? Number.NaN : Date.parse(dateHeader)
  const waitMs = atMs - (Number.isNaN(serverNowMs) ? nowMs : serverNowMs)
  return Math.min(Math.max(waitMs, 0), maxRetryAfterMs)
}
