import { httpDateMs } from './http-date.ts'

/**
 * Maximum wait that an answer can impose, in milliseconds. After an hour the service is asked again in any case: a
 * `Retry-After` of a month would outlast the trouble, and asking costs few requests.
 */
const maxRetryAfterMs = 3_600_000
/** Maximum length of a header that is read. A date in any HTTP format has at most 33 characters. */
const maxChars = 64

/**
 * Parses a `Retry-After` header.
 *
 * A date is compared with the `Date` header of the same answer, if there is one. So a clock that is wrong by an hour,
 * on either side, does not matter.
 *
 * @returns the delay in milliseconds, at most an hour; `undefined` if the header is missing or invalid
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
  if (!/[a-z]/i.test(text)) return undefined // Date.parse accepts "-5" and "2/3" as dates
  const atMs = httpDateMs(text)
  if (Number.isNaN(atMs)) return undefined
  const serverNowMs = dateHeader === undefined || dateHeader.length > maxChars ? Number.NaN : httpDateMs(dateHeader)
  const waitMs = atMs - (Number.isNaN(serverNowMs) ? nowMs : serverNowMs)
  return Math.min(Math.max(waitMs, 0), maxRetryAfterMs)
}
