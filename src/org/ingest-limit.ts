/**
 * Reads the header `X-IngestLimit-Remaining` of an answer, which the public service that resembles this one sends.
 *
 * @returns the bytes that the organization may still ingest in this period, or `undefined` if the header is missing or
 * invalid
 */
export function ingestLimitIn(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const text = headers['x-ingestlimit-remaining']
  return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
